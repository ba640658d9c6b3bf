"""Options that need or exclude each other: each is said, and nothing that a mode does not use is silently ignored."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.combinations import GO_TOGETHER, REFUSED
from tests.combinations.parts import JOB, OF_THE_SCRIPT, ONLY_TOLD, SCRIPT
from tests.manifests import fleet, manifest

from collectorfleet_api.rules.advice import warnings
from collectorfleet_api.rules.combinations.table import COMBINATIONS
from collectorfleet_api.rules.validation import read
from collectorfleet_api.v1alpha1 import CollectorFleet


@pytest.mark.parametrize(("changes", "sentence"), REFUSED)
def test_options_that_do_not_go_together_are_refused(changes: dict[str, Any], sentence: str) -> None:
    found = read(manifest(changes))
    assert isinstance(found, list)
    assert [str(problem) for problem in found] == [sentence]


@pytest.mark.parametrize("path", ONLY_TOLD)
def test_what_no_rule_of_the_crd_can_look_into_is_told_here(path: str) -> None:
    found = read(manifest({**SCRIPT, f"spec.{path}": OF_THE_SCRIPT[path]}))
    assert [str(problem) for problem in found] == [
        f"spec.{path}: driver.script sets this in its FleetCollector; leave this field out"
    ]


def test_a_script_says_all_of_its_collection_but_what_carries_it() -> None:
    without_ray = {**JOB, **SCRIPT, "spec.collection": {"transport": "TorchDistributed"}}
    assert isinstance(read(manifest(without_ray)), CollectorFleet)
    assert isinstance(read(manifest({**without_ray, "spec.collection.mode": "Async"})), list)


def test_each_combination_is_refused_by_a_case_here() -> None:
    beside = [fleet({**SCRIPT, f"spec.{path}": OF_THE_SCRIPT[path]}).spec for path in ONLY_TOLD]
    specs = [*(fleet(case.values[0]).spec for case in REFUSED), *beside]
    broken = {c.name for spec in specs for c in COMBINATIONS if not c.holds(spec)}
    assert [c.name for c in COMBINATIONS if c.name not in broken] == []


def test_each_combination_has_a_name_of_its_own() -> None:
    names = [c.name for c in COMBINATIONS]
    assert len(names) == len(set(names)) > 20
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []


@pytest.mark.parametrize("changes", [*GO_TOGETHER, pytest.param(SCRIPT, id="a script")])
def test_options_that_go_together_pass_without_a_word(changes: dict[str, Any]) -> None:
    found = read(manifest(changes))
    assert isinstance(found, CollectorFleet), found
    assert warnings(found) == []
