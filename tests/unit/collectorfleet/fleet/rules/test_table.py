"""Options of a fleet that cannot work are refused when they are said, each with its sentence."""

from __future__ import annotations

from typing import Any

import pytest
from tests.refused_options import REFUSED, TORCHRLS
from tests.unit.collectorfleet.fleet.rules.two_collectors import options

from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.rules.table import RULES


@pytest.mark.parametrize(("rule", "changes", "sentence"), REFUSED)
def test_options_that_cannot_work_are_refused(rule: tuple[str, str], changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        options(changes)
    assert str(refused.value) == f"{rule[1]}: {sentence}"


@pytest.mark.parametrize(("rule", "changes", "sentence"), TORCHRLS)
def test_a_type_that_torchrl_refuses_is_a_type_error(
    rule: tuple[str, str], changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(TypeError) as refused:
        options(changes)
    assert str(refused.value) == f"{rule[1]}: {sentence}"


def test_each_rule_is_asked_once_and_broken_by_a_case_here() -> None:
    rules = [(rule.name, rule.option) for rule in RULES]
    assert len(rules) == len(set(rules))
    assert set(rules) == {case.values[0] for case in REFUSED + TORCHRLS}
