from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectorfleet import InvalidOption
from collectorfleet.learners.options import LearnerOptions, merged


class Policy:
    """Has no way back from a checkpoint."""


def test_a_configuration_of_its_own_wins_key_by_key_and_changes_neither() -> None:
    common = {"lr": 1e-3, "net": {"width": 64, "depth": 2}, "seed": 1}
    own = {"lr": 1e-4, "net": {"width": 128}, "extra": {"a": 1}}
    found = merged(common, own)
    assert found == {"lr": 1e-4, "net": {"width": 128, "depth": 2}, "seed": 1, "extra": {"a": 1}}
    found["net"]["depth"] = found["extra"]["a"] = 9
    assert common["net"] == {"width": 64, "depth": 2}
    assert own["extra"] == {"a": 1}


def test_what_wins_over_a_dict_need_not_be_one() -> None:
    assert merged({"net": {"width": 64}, "lr": 1}, {"net": None, "lr": {"first": 1}}) == {
        "net": None,
        "lr": {"first": 1},
    }


def test_the_callers_dicts_may_change_afterwards() -> None:
    config: dict[str, Any] = {"net": {"width": 64}}
    options = LearnerOptions(Policy, 1, config=config)
    config["net"]["width"] = 1
    assert options.config == {"net": {"width": 64}}


def test_what_cannot_work_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"^policy_class: Policy has no state_dict\(\) and no load_state_dict\(\);"):
        LearnerOptions(Policy, 1, checkpoint_dir=tmp_path / "new")
    with pytest.raises(InvalidOption, match=r"^replay_class: Policy has no forget\(\); add each missing method$"):
        LearnerOptions(Policy, 1, replay_class=Policy)
    with pytest.raises(InvalidOption, match=r"^placement: 'Best' is unknown; use Spread or FirstFit$"):
        LearnerOptions(Policy, 1, placement="Best")
