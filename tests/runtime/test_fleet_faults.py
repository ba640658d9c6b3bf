"""Slow, full and lost collectors, and what the consumer gets meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
import torch
from tensordict import TensorDictBase
from tests import envs
from tests.contract.harness import make_gated, waits_at
from tests.runtime.batches import TRAJECTORY, VERSION, Make, available, learn
from tests.wait import eventually

from collectorfleet import TooFewCollectors
from collectorfleet.gather.built import wait_built
from collectorfleet.recovery.failure import GiveUp, Loss, Replace

pytestmark = pytest.mark.usefixtures("local_ray")


def read_until(batches: Iterator[object], reached: Callable[[], bool]) -> None:
    """Read batches until ``reached()``: how many that takes is the machine's business."""
    eventually(lambda: next(batches) is not None and reached(), within=60, every=0)


FAST, SLOW = partial(envs.make_counting), partial(envs.make_counting, step_seconds=0.2)


def lives(batch: TensorDictBase) -> set[int]:
    """The incarnations that made its shares."""
    return {int(share[TRAJECTORY].max()) >> 32 for share in batch}


def test_the_first_shares_make_a_batch_and_the_late_one_goes_into_a_later_batch(make: Make, gate: Path) -> None:
    collector = make(
        create_env_fn=[FAST, FAST, partial(make_gated, str(gate))],
        num_collectors=3,
        first_shares=2,
        max_staleness=2,
        total_frames=120,
        update_after_each_batch=True,
    )
    eventually(lambda: available(collector), until=lambda n: n == 3, within=60, what="three collectors")
    late = wait_built(collector._consumer.shared, 60)["c2"].incarnation
    seen = []
    for batch in collector:
        assert tuple(batch.shape) == (2, 10)
        seen.append(lives(batch))
        learn(collector)
        if len(seen) == 2:
            waits_at(gate)  # the third has not answered at all, and two batches are here
            gate.touch()
    assert len(seen) == 6
    assert late not in seen[0] | seen[1]
    assert late in set().union(*seen)
    status = collector.status()
    assert status.weights is not None
    assert status.weights.staleness.max in (1, 2)
    assert status.progress is not None
    assert (status.progress.frames_collected, status.progress.frames_discarded) == (120, 0)


def test_stragglers_return_what_they_have_and_missing_frames_are_masked(make: Make) -> None:
    collector = make(
        create_env_fn=[FAST, SLOW],
        frames_per_batch=100,
        preemptive_threshold=0.5,
        total_frames=200,
    )
    # Otherwise the fast collector may be done before the slow one begins.
    eventually(lambda: available(collector), until=lambda n: n == 2, within=60, what="two collectors")
    valid = 0
    for batch in collector:
        assert tuple(batch.shape) == (2, 50)
        mask = batch["collector", "mask"]
        assert mask[0].all()
        assert 0 < int(mask[1].sum()) < 50
        assert (batch[TRAJECTORY][~mask] == -1).all()
        assert (batch[TRAJECTORY][mask] >= 0).all()
        valid += int(mask.sum())
    progress = collector.status().progress
    assert progress is not None
    assert progress.frames_delivered == valid >= 200


def test_a_collector_without_memory_is_replaced_and_the_run_goes_on(make: Make, tmp_path: Path) -> None:
    env = {"misbehaves": "run out of memory", "at": 15, "once": str(tmp_path / "full")}
    collector = make(env, total_frames=100)
    assert sum(batch.numel() for batch in collector) == 100
    assert any("no memory left" in (row.last_error or "") for row in collector.status().collectors)


@pytest.mark.parametrize("misbehaves", ["raise", "raise when built"])
def test_an_environment_that_raises_now_and_then_is_started_again(make: Make, tmp_path: Path, misbehaves: str) -> None:
    env = {"misbehaves": misbehaves, "at": 15, "once": str(tmp_path / "raised")}
    collector = make(env, total_frames=100, on_environment_error="restart")
    assert sum(batch.numel() for batch in collector) == 100
    rows = collector.status().collectors
    assert sorted(row.last_error or "" for row in rows)[1].startswith("ValueError: ")
    assert sum(row.restarts for row in rows) == 1


@dataclass
class NeverAgain:
    """A user's policy."""

    def decide(self, loss: Loss) -> Replace | GiveUp:
        return GiveUp(f"{loss.collector} had its chance")


def test_a_failure_policy_of_the_user_decides(make: Make, tmp_path: Path) -> None:
    env = {"misbehaves": "die", "at": 15, "once": str(tmp_path / "died")}
    with pytest.raises(TooFewCollectors, match=r"of 2 collectors left.*first cause"):
        list(make(env, total_frames=1000, failure_policy=NeverAgain(), min_available=2))


def test_a_user_decides_which_collectors_leave(make: Make) -> None:
    class LowestFirst:
        def leaving(self, collectors: object, count: int) -> list[str]:
            return sorted(one.name for one in collectors)[:count]  # type: ignore[attr-defined]

    collector = make(sync=False, scaling_policy=LowestFirst())
    batches = iter(collector)
    next(batches)
    collector.resize(1)
    read_until(batches, lambda: [row.name for row in collector.status().collectors] == ["c1"])


def test_a_resized_sync_fleet_splits_its_batches_anew_and_a_fixed_one_does_not(make: Make) -> None:
    for shares, expected in ((None, (4, 5)), (2, (2, 10))):
        collector = make(shares=shares)
        batches = iter(collector)
        assert tuple(next(batches).shape) == (2, 10)
        collector.resize(4)
        shapes = [tuple(next(batches).shape) for _ in range(4)]
        assert shapes[-1] == expected
        collector.shutdown(timeout=20)


def test_a_slot_that_is_given_up_and_taken_again_counts_from_zero(make: Make) -> None:
    collector = make(sync=False)
    batches = iter(collector)

    def frames() -> dict[str, int]:
        return {row.name: row.frames for row in collector.status().collectors}

    # Both have delivered: a collector that does not run yet would be the one that leaves.
    read_until(batches, lambda: min(frames().values()) > 0)
    collector.resize(1)
    read_until(batches, lambda: set(frames()) == {"c0"})
    with collector.pause():  # the next collector delivers nothing meanwhile
        collector.resize(2)
        assert frames()["c1"] == 0


def test_two_answers_of_each_collector_wait_for_a_slow_consumer_and_are_discarded_if_it_takes_no_more(
    make: Make,
) -> None:
    collector = make(sync=False, num_collectors=1)
    next(iter(collector))
    gather = collector._consumer.shared.gather

    def idle_and_waiting() -> tuple[int, int]:
        with collector._consumer.shared.changed:
            return gather.collectors.busy, gather.admissions.frames_waiting

    eventually(idle_and_waiting, until=lambda seen: seen == (0, 2 * 20), within=60, what="a collector that waits")
    collector.shutdown()
    progress = collector.status().progress
    assert progress is not None
    assert (progress.frames_delivered, progress.frames_discarded, progress.frames_collected) == (20, 40, 60)


def test_views_of_the_store_are_what_copies_are(make: Make) -> None:
    for sync in (True, False):
        batch = next(iter(make(sync=sync, copy=False)))
        assert tuple(batch.shape) == ((2, 10) if sync else (20,))
        assert (batch[VERSION] == 1).all()
        # What each environment counted in its episodes of ten steps.
        assert (batch["next", "observation"][..., 0].reshape(2, 10) == torch.arange(1, 11)).all()


def test_the_status_says_when_the_object_store_spills(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectorfleet.transport.ray.node_watch.EVERY_SECONDS", 0.2)
    collector = make(num_collectors=1)

    def spilled() -> int | None:
        progress = collector.status().progress
        return progress.spilled_bytes if progress else None

    # A head that is away for a moment ends nothing.
    refusals, nodes = [ConnectionError("the head is away")] * 2, ray.nodes

    def hiccups() -> list[dict[str, Any]]:
        if refusals:
            raise refusals.pop()
        return nodes()

    monkeypatch.setattr(ray, "nodes", hiccups)
    eventually(lambda: not refusals and spilled() is not None, within=60, what="an answer of the node")
    # More than the store of the tests holds, and all of it is still referred to.
    held = [ray.put(np.zeros(50 * 2**20, dtype=np.uint8)) for _ in range(9)]
    eventually(spilled, until=bool, within=60, what="a spill")
    assert len(held) == 9
