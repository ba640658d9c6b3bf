"""What a manifest names of learners is looked at in the driver, before there is a Ray."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import LEARNERS
from tests.manifests import ABSENT, fleet
from torch import nn

from collectorfleet.errors import InvalidOption, UserCodeError
from collectorfleet.learners.replay import PolicyReplay
from collectorfleet.run.spec_learners.code import LearnerCode, load_learner_code, parts_of

HERE = __name__


class Learner:
    def learn(self, frames: Any) -> None: ...

    def weights(self) -> None: ...


class Other(Learner):
    pass


class OnlyWeights:
    def weights(self) -> None: ...


def make() -> Learner:
    return Learner()


def split(_frames: Any) -> None: ...


def loaded(changes: dict[str, Any] | None = None, **learners: Any) -> LearnerCode | None:
    asked = {**LEARNERS, "factory": f"{HERE}:Learner", "split": f"{HERE}:split", **learners}
    return load_learner_code(fleet({"spec.learners": asked, **(changes or {})}).spec)


def test_classes_are_those_of_each_policy() -> None:
    found = loaded(policies=[{"id": "red"}, {"id": "blue", "factory": f"{HERE}:Other"}])
    assert found is not None
    assert dict(found.of_policies) == {"red": Learner, "blue": Other}
    assert found.replay is PolicyReplay
    assert load_learner_code(fleet().spec) is None


def test_what_an_actor_cannot_be_made_of_is_said_by_its_import_path() -> None:
    with pytest.raises(UserCodeError, match=rf"^learners.factory {HERE}:make: this is a function, but an actor needs"):
        loaded(factory=f"{HERE}:make")
    with pytest.raises(UserCodeError, match=r"^learners.replay.factory .*: Learner has no extend\(\) and no"):
        loaded(replay={"factory": f"{HERE}:Learner"})
    with pytest.raises(UserCodeError, match=rf"^import {HERE}:nobody"):
        loaded(split=f"{HERE}:nobody")


def test_only_who_trains_by_a_function_of_their_own_needs_no_learn() -> None:
    assert loaded(factory=f"{HERE}:OnlyWeights") is not None
    with pytest.raises(UserCodeError, match=r": OnlyWeights has no learn\(\); add each missing method$"):
        loaded({"spec.driver.train": ABSENT}, factory=f"{HERE}:OnlyWeights")


def test_each_policys_module_is_a_part_of_the_fleets() -> None:
    asked = fleet({"spec.learners": LEARNERS}).spec.learners
    assert asked is not None
    policy = nn.Module()
    policy.red, policy.module = nn.Linear(1, 1), nn.Module()
    with pytest.raises(InvalidOption, match=r"^spec.learners.policies\[1\].module: module.blue is not in the fleet's"):
        parts_of(policy, asked)
    policy.module.blue = nn.Linear(1, 1)
    assert parts_of(policy, asked) == {"red": policy.red, "blue": policy.module.blue}
