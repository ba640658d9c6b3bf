"""Parameters of environments in a fleet: every frame tells which it was made with, and its observation proves it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch
from tensordict import TensorDictBase
from tests import parameterized_envs as levels
from tests.runtime.batches import Make
from tests.wait import eventually

from collectorfleet import (
    EnvironmentParameters,
    Evaluation,
    EvaluationResult,
    FleetCollector,
    InvalidOption,
    UserCodeError,
)
from collectorfleet_api.v1alpha1 import EnvironmentParametersStatus

VERSION = ("collector", "environment_parameters_version")
COLLECTOR = {"c0": 0, "c1": 1}


@pytest.fixture
def fleet(make: Make) -> Make:
    """Two collectors of processes, which need no Ray; the contract tests ask every transport."""

    def made(**options: Any) -> FleetCollector:
        given = {
            "create_env_fn": levels.make_method,
            "policy_factory": None,
            "transport": "torch_distributed",
            "environment_parameters": EnvironmentParameters(),
        }
        return make(policy=levels.make_policy(), **{**given, **options})

    return made


def status(collector: FleetCollector) -> EnvironmentParametersStatus:
    found = collector.status().environment_parameters
    assert found is not None
    return found


def batch_of(collector: FleetCollector) -> TensorDictBase:
    """The next batch, whose frames are true: in these tests, version ``n`` is level ``10 n``."""
    batch = next(iter(collector))
    versions = batch[VERSION]
    assert versions.dtype == torch.int64
    assert torch.equal(batch["observation"][..., 0], 10.0 * versions)
    return batch


def versions_of(collector: FleetCollector, row: int | None = None) -> set[int]:
    batch = batch_of(collector)
    return set((batch if row is None else batch[row])[VERSION].flatten().tolist())


def until_all_have(collector: FleetCollector, version: int, row: int | None = None) -> None:
    """Take batches until all frames have this version; it comes with the next requests but for those under way."""
    for _ in range(8):
        if versions_of(collector, row) == {version}:
            return
    raise AssertionError(f"no batch is of version {version} alone")


def test_frames_tell_their_parameters_and_the_status_who_has_the_newest(fleet: Make) -> None:
    collector = fleet()
    assert versions_of(collector) == {0}
    assert status(collector).model_dump(exclude_defaults=True) == {"applied": 2}
    assert collector.set_environment_parameters({"level": 10.0}) == 1
    until_all_have(collector, 1)
    assert collector.set_environment_parameters({"level": 20}) == 2
    until_all_have(collector, 2)
    assert collector.environment_parameters() == {"level": 20}
    found = status(collector)
    assert (found.version, found.values, found.applied) == (2, {"level": 20}, 2)


def test_a_collector_that_is_replaced_begins_with_the_parameters_of_now(fleet: Make) -> None:
    collector = fleet()
    collector.set_environment_parameters({"level": 10.0})
    until_all_have(collector, 1)
    # Both processes end: none of the frames that follow is of a collector that was there before.
    for process in collector.remote_collectors:
        process.kill()
    seen = [versions_of(collector) for _ in range(4)]
    # One replacement may make all of these frames before the other loss is noticed.
    eventually(lambda: collector.status().progress.collectors.restarts, until=lambda n: n == 2, within=60)
    assert seen == [{1}] * 4


def test_collectors_that_come_later_begin_with_the_parameters_of_now(fleet: Make) -> None:
    collector = fleet(num_collectors=1, sync=False, frames_per_batch=10)
    collector.set_environment_parameters({"level": 10.0})
    until_all_have(collector, 1)
    collector.resize(2)
    seen: set[int] = set()
    while collector.status().progress.collectors.available < 2 or status(collector).applied < 2:
        seen |= versions_of(collector)
    assert seen == {1}


def test_collectors_and_groups_have_parameters_of_their_own(fleet: Make) -> None:
    collector = fleet(groups=["near", "far"])
    collector.set_environment_parameters({"level": 10}, group="far")
    until_all_have(collector, 1, row=COLLECTOR["c1"])
    assert versions_of(collector, row=COLLECTOR["c0"]) == {0}
    collector.set_environment_parameters(by_collector={"c0": {"level": 20}, "c1": {"level": 20}})
    until_all_have(collector, 2)
    found = status(collector)
    assert [one.model_dump() for one in found.groups] == [{"name": "far", "values": {"level": 10}}]
    assert [one.name for one in found.collectors] == ["c0", "c1"]
    # What is set for all takes the place of all of these.
    collector.set_environment_parameters({"level": 30})
    until_all_have(collector, 3)
    found = status(collector)
    assert (found.groups, found.collectors, found.values, found.applied) == ([], [], {"level": 30}, 2)


def test_all_changes_together_are_limited_and_what_is_returned_is_a_copy(fleet: Make) -> None:
    collector = fleet()
    collector.set_environment_parameters({"level": 10, "table": {"a": 1}})
    collector.environment_parameters()["table"]["a"] = 2
    assert collector.environment_parameters() == {"level": 10, "table": {"a": 1}}
    for number in range(3):
        collector.set_environment_parameters({f"text{number}": "x" * 20_000})
    with pytest.raises(InvalidOption, match=r"all parameters together take \d+ bytes, but at most 65536"):
        collector.set_environment_parameters({"text3": "x" * 20_000})
    assert status(collector).version == 4


def test_a_fleet_goes_on_from_the_parameters_of_a_state(fleet: Make) -> None:
    first = fleet()
    first.set_environment_parameters({"level": 10})
    until_all_have(first, 1)
    state = first.state_dict()
    first.shutdown()
    second = fleet()
    second.load_state_dict(state)
    assert versions_of(second) == {1}
    assert second.set_environment_parameters({"level": 20}) == 2
    with pytest.raises(InvalidOption, match=r"\d (batch was|batches were) collected already; load the state before"):
        second.load_environment_parameters_state(state["environment_parameters"])
    third = fleet(resume_from={"frames": 20, "version": 3, "environment_parameters": state["environment_parameters"]})
    assert versions_of(third) == {1}


def test_a_fleet_that_takes_no_parameters_warns_of_those_in_a_state(
    fleet: Make, caplog: pytest.LogCaptureFixture
) -> None:
    first = fleet()
    first.set_environment_parameters({"level": 10})
    state = first.environment_parameters_state()
    with caplog.at_level(logging.WARNING, logger="collectorfleet"):
        second = fleet(
            environment_parameters=None, resume_from={"frames": 0, "version": 1, "environment_parameters": state}
        )
    assert "the state has environment parameters of version 1, but this fleet has no parameters" in caplog.text
    assert VERSION not in next(iter(second)).keys(include_nested=True)
    with pytest.raises(InvalidOption, match="this fleet takes no environment parameters; pass environment_parameters"):
        second.set_environment_parameters({"level": 1})


def take_all(collector: FleetCollector) -> None:
    for _ in collector:
        pass


def test_an_environment_that_takes_no_parameters_ends_the_run_by_its_name(fleet: Make) -> None:
    collector = fleet(create_env_fn=levels.make_attribute)
    collector.set_environment_parameters({"gravity": 1})
    with pytest.raises(UserCodeError, match=r"environment parameters \(collector c\d\): ParametersRefused: ") as ended:
        take_all(collector)
    assert "environment Levels has no method set_parameters and no attribute gravity; add a method" in str(ended.value)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "pass either 'parameters' or 'by_collector'"),
        (
            {"parameters": {"level": 1}, "by_collector": {"c0": {"level": 1}}},
            "pass either 'parameters' or 'by_collector'",
        ),
        ({"by_collector": {"c0": {"level": 1}}, "group": "far"}, "'group' and 'by_collector' exclude each other"),
        ({"parameters": {}}, r"\{\} has no parameters; pass a dict with some"),
        ({"parameters": {"level": 1}, "group": "fat"}, "there is no group fat; this fleet has far, near"),
        ({"by_collector": {"c7": {"level": 1}}}, "there is no collector c7; this fleet has c0, c1"),
        ({"parameters": {"": 1}}, "the name '' is not a string"),
        ({"parameters": {"level": torch.tensor(1.0)}}, r"level is Tensor tensor\(1.\), which status and checkpoints"),
        ({"parameters": {"level": float("nan")}}, "level is float nan, which status and checkpoints cannot store"),
        ({"parameters": {"level": (1, 2)}}, r"level is tuple \(1, 2\), .*JSON would change it to \[1, 2\]"),
        ({"parameters": {"level": {1: 2}}}, r"level is dict \{1: 2\}, .*JSON would change it to \{'1': 2\}"),
        ({"by_collector": {}}, r"by_collector is \{\}; pass parameters by the name of a collector"),
        ({"by_collector": ["c0"]}, r"by_collector is \['c0'\]; pass parameters by the name of a collector"),
        (
            {"parameters": {"level": "x" * 70_000}},
            "all parameters together take 70099 bytes, but at most 65536 fit into the status",
        ),
    ],
)
def test_parameters_that_cannot_be_set_are_refused_and_change_nothing(
    fleet: Make, arguments: dict[str, Any], sentence: str
) -> None:
    collector = fleet(groups=["near", "far"])
    with pytest.raises(InvalidOption, match=sentence):
        collector.set_environment_parameters(**arguments)
    assert status(collector).version == 0


def test_a_curriculum_follows_each_evaluation_and_a_resumed_one_repeats_none(fleet: Make) -> None:
    seen: list[int] = []

    def next_level(result: EvaluationResult, parameters: dict[str, Any]) -> dict[str, Any] | None:
        seen.append(result.version)
        return levels.curriculum(result, parameters)

    options = {
        "evaluation": Evaluation(every_versions=1, episodes=1),
        "curriculum": next_level,
        "update_after_each_batch": True,
    }
    collector = fleet(**options)
    while len(seen) < 5:
        next(iter(collector))
    assert collector.environment_parameters() == {"level": 3}
    assert status(collector).version == 3
    assert seen == sorted(set(seen))
    state, results = collector.environment_parameters_state(), collector.evaluation_state()
    known = list(seen)
    collector.shutdown()
    second = fleet(**options, resume_from={"frames": 100, "version": 50, "environment_parameters": state})
    second.load_evaluation_state(results)
    while len(seen) == len(known):
        next(iter(second))
    assert seen[len(known)] > known[-1]


@pytest.mark.parametrize(
    ("curriculum", "sentence"),
    [
        (lambda result: 3, "curriculum .*: it returned an int; return a dict of parameters, or None"),
        (lambda result: 1 / 0, "curriculum .*: ZeroDivisionError: division by zero"),
    ],
)
def test_a_curriculum_that_fails_ends_the_iteration(fleet: Make, curriculum: Any, sentence: str) -> None:
    collector = fleet(
        evaluation=Evaluation(every_versions=1, episodes=1), curriculum=curriculum, update_after_each_batch=True
    )
    with pytest.raises(UserCodeError, match=sentence):
        take_all(collector)
