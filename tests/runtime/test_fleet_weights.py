"""How weights travel: what is cast, what is left out, when they are applied, and who is told.

The reward is twice the value of the weights that acted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from tests import envs
from tests.contract.harness import make_gated, waits_at
from tests.runtime.batches import TRAJECTORY, VERSION, Make, learn, values
from tests.wait import eventually

from collectorfleet import UserCodeError
from collectorfleet.actor.target import WeightsTarget
from collectorfleet.codec.snapshot import Bytes, Entry, bytes_of
from collectorfleet.gather.state.versions import PublishResult
from collectorfleet.recovery.failure import GiveUp, Loss

pytestmark = pytest.mark.usefixtures("local_ray")


def test_weights_are_cast_for_the_way_and_half_as_large(make: Make) -> None:
    whole = make(policy=envs.make_wide_policy(), num_collectors=1)
    cast = make(policy=envs.make_wide_policy(), num_collectors=1, weights_dtype=torch.bfloat16)
    sizes = []
    for collector in (whole, cast):
        assert collector.update_policy_weights_(wait=True) is not None
        weights = collector.status().weights
        assert weights is not None
        assert weights.acknowledged == 2
        sizes.append(weights.bytes or 0)
    assert sizes[1] < 0.6 * sizes[0]


def test_what_is_not_included_stays_as_it_was_built(make: Make) -> None:
    collector = make(policy=envs.make_two_part_policy(1.0, 10.0), num_collectors=1, weights_filter=["module.acting"])
    learn(collector)
    collector.update_policy_weights_()
    batch = next(iter(collector))
    assert set((batch["next", "reward"] / 2).flatten().tolist()) == {2.0 + 10.0}  # the other part did not travel


def test_further_models_are_published_with_the_policy(make: Make) -> None:
    world = torch.nn.Linear(1, 1)
    collector = make(create_env_fn=envs.make_modelled, num_collectors=1, models={"env.world": world})
    with torch.no_grad():
        world.weight.fill_(7.0)
    collector.update_policy_weights_()
    batch = next(iter(collector))
    assert set(batch["next", "observation"].flatten().tolist()) == {7.0}


def test_published_weights_are_those_of_the_call_whatever_the_learner_does_next(make: Make) -> None:
    collector = make(num_collectors=1)
    batches = iter(collector)
    parameter = next(collector.policy.parameters())
    with torch.no_grad():
        for value in (3.0, 5.0):
            parameter.fill_(value)
            collector.update_policy_weights_()
            parameter.fill_(-1.0)
            assert set((next(batches)["next", "reward"] / 2).flatten().tolist()) == {value}


def test_shared_parameters_and_buffers_that_are_not_floating_arrive(make: Make) -> None:
    collector = make(policy=envs.make_tied_policy(), num_collectors=1)
    with torch.no_grad():
        collector.policy.module.first.weight.fill_(2.0)
        collector.policy.module.count.fill_(3)
    results = collector.update_policy_weights_(wait=True)
    assert results is not None
    assert results["c0"].acknowledged
    batch = next(iter(collector))
    assert set((batch["next", "reward"] / 2).flatten().tolist()) == {2.0 + 2.0 + 3.0}


def test_weights_of_another_policy_end_the_run_and_say_which_tensor(make: Make) -> None:
    # Of a policy that is built in the collectors, the driver knows no names.
    collector = make(policy=None, policy_factory=envs.make_policy, num_collectors=1)
    collector.update_policy_weights_({"other": torch.zeros(1)})
    with pytest.raises(UserCodeError, match="no tensor other"):
        next(iter(collector))


def test_publishing_waits_for_no_rollout_and_asking_says_what_each_collector_has(make: Make, gate: Path) -> None:
    environments = [partial(make_gated, str(gate)), envs.make_counting]
    collector = make(create_env_fn=environments, sync=False, num_collectors=2)
    next(iter(collector))
    waits_at(gate)  # the first collector is in the middle of a rollout

    def publish() -> dict[str, PublishResult]:
        return collector.update_policy_weights_(wait=True, timeout=0.1) or {}

    results = eventually(publish, until=lambda seen: seen["c1"].acknowledged, within=60, every=0)
    published = collector.status().weights.published
    assert results == {
        "c0": PublishResult(1, acknowledged=False, error="not applied yet"),
        "c1": PublishResult(published, acknowledged=True),
    }
    gate.touch()
    assert collector.update_policy_weights_(wait=True) == {
        "c0": PublishResult(published + 1, acknowledged=True),
        "c1": PublishResult(published + 1, acknowledged=True),
    }


def test_a_held_back_publish_says_that_the_bound_holds_it(make: Make) -> None:
    # Exactly: the next batch, which is under way, is made with the first version however late it begins.
    collector = make(num_collectors=1, max_staleness=1, exact_staleness=True)
    next(iter(collector))
    collector.update_policy_weights_(wait=True)
    results = collector.update_policy_weights_(wait=True, timeout=0.2)
    assert results is not None
    assert "staleness bound allows no further version" in str(results["c0"].error)


def test_weights_apply_between_two_steps_and_every_frame_says_its_own(make: Make) -> None:
    collector = make(
        {"step_seconds": 0.05, "length": 1000},
        sync=False,
        num_collectors=1,
        frames_per_batch=40,
        update_between_steps=True,
    )
    batches = iter(collector)
    next(batches)

    def next_one() -> TensorDictBase:
        for _ in range(3):
            learn(collector)
            collector.update_policy_weights_(wait=True)
        return next(batches)

    def is_mixed(batch: TensorDictBase) -> bool:
        return batch[VERSION].unique().numel() > 1

    batch = eventually(next_one, until=is_mixed, within=60, every=0, what="a batch of several versions")
    versions = batch[VERSION].flatten()
    assert (versions == (batch["next", "reward"] / 2).flatten().long() + 1).all()
    assert (versions.diff() >= 0).all()


def test_the_newest_weights_are_taken_and_old_ones_are_let_go(make: Make) -> None:
    collector = make({"step_seconds": 0.02}, sync=False, num_collectors=1)
    batches = iter(collector)
    next(batches)
    for _ in range(20):
        learn(collector)
        collector.update_policy_weights_()
    results = collector.update_policy_weights_(wait=True)
    assert results is not None
    assert results["c0"].acknowledged
    versions = collector._engine.consumer.shared.versions
    assert versions.newest is not None
    assert versions.kept == [versions.newest.version]
    published = collector.status().weights
    assert published is not None
    assert published.publishes.attempted == published.publishes.succeeded


@pytest.mark.parametrize("dies", [False, True])
def test_exact_staleness_is_one_version_behind_whatever_happens(make: Make, tmp_path: Path, dies: bool) -> None:
    env: dict[str, Any] = {"misbehaves": "die", "at": 35, "once": str(tmp_path / "died")} if dies else {}
    collector = make(env, total_frames=160, update_after_each_batch=True, max_staleness=1, exact_staleness=True)
    lags = []
    for number, batch in enumerate(collector):
        assert batch[VERSION].unique().numel() == 1
        assert set((batch["next", "reward"] / 2).flatten().tolist()) == {float(batch[VERSION].min() - 1)}
        lags.append(number + 1 - int(batch[VERSION].min()))
        learn(collector)
    assert lags == [0] + [1] * 7


def test_a_collector_that_comes_later_delivers_nothing_of_old_weights(make: Make) -> None:
    collector = make(sync=False, num_collectors=1)
    batches = iter(collector)
    next(batches)
    learn(collector)
    collector.update_policy_weights_(wait=True)
    collector.resize(2)

    def is_of_the_second(batch: TensorDictBase) -> bool:
        return int(batch[TRAJECTORY].max()) >> 32 == 2

    first = eventually(lambda: next(batches), until=is_of_the_second, within=60, every=0, what="frames of c1")
    assert (first[VERSION] >= 2).all()


@dataclass
class NeverAgain:
    def decide(self, loss: Loss) -> GiveUp:
        return GiveUp(f"{loss.collector} had its chance")


def make_policy_in_a_process_that_rounds() -> TensorDictModule:
    """Weights that were loaded are rounded before anybody looks at them: 2 has half precision, and 0.1 has not."""
    load = WeightsTarget._load

    def rounded(self: WeightsTarget, entry: Entry, array: Bytes) -> Bytes:
        load(self, entry, array)
        tensor = self._tensors[entry.name]
        tensor.copy_(tensor.bfloat16())
        return bytes_of(tensor)

    WeightsTarget._load = rounded  # type: ignore[method-assign]  # of this process, which the collector has for itself
    return envs.make_policy()


def test_a_collector_whose_loaded_weights_differ_is_retired_and_said_and_the_others_go_on(make: Make) -> None:
    factories = [envs.make_policy, make_policy_in_a_process_that_rounds]
    collector = make(policy_factory=factories, sync=False, min_available=1, failure_policy=NeverAgain())
    collector.update_policy_weights_(TensorDict.from_module(envs.make_policy(2.0)))
    batches = iter(collector)
    assert values(next(batches)) == {2.0}
    eventually(lambda: [row.applied_version for row in collector.status().collectors] == [1, 1], within=60)
    collector.update_policy_weights_(TensorDict.from_module(envs.make_policy(0.1)))

    def rows() -> dict[str, tuple[str, int | None]]:
        next(batches)
        return {row.name: (row.state, row.applied_version) for row in collector.status().collectors}

    eventually(rows, until=lambda seen: seen == {"c0": ("Ready", 2), "c1": ("Failed", None)}, within=60, every=0)
    torn = "the loaded version 2 has another digest than the published version"
    status = collector.status()
    assert {row.name: row.last_error for row in status.collectors} == {"c0": None, "c1": torn}
    weights = status.weights
    assert weights is not None
    assert weights.last_failure is not None
    assert (weights.last_failure.collector, weights.last_failure.version) == ("c1", 2)
    assert (weights.last_failure.reason, weights.last_failure.message) == ("WeightsNotApplied", torn)
    assert (weights.acknowledged, weights.publishes.partial, weights.publishes.failed) == (2, 1, 0)
