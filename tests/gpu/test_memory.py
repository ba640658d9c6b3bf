"""The memory of one GPU: parts of it, a collector that is killed, and a collector that asks for too much.

These take most of the GPU's memory. Run them one after another, and beside other tests of this folder only.
"""

from __future__ import annotations

import os
import signal

import pytest
from tests.gpu.on_a_gpu import DEVICE, Doubling, constant, filling, holding
from tests.gpu.waits import numbers, read_until, row
from tests.runtime.batches import TRAJECTORY, Make, available
from tests.wait import eventually

pytestmark = pytest.mark.usefixtures("ray_with_a_gpu")


@pytest.mark.parametrize(("share", "fits"), [(0.15, True), (0.4, False)], ids=["within its part", "beyond it"])
def test_a_collector_of_a_quarter_gets_a_quarter_of_the_memory(make: Make, share: float, fits: bool) -> None:
    collector = make(
        Doubling,
        filling(share),
        num_collectors=1,
        sync=True,
        frames_per_batch=4,
        total_frames=4,
        device=DEVICE,
        remote_configs={"num_cpus": 1, "num_gpus": 0.25},
    )
    (batch,) = list(collector)
    assert set(batch["fits"].flatten().tolist()) == {float(fits)}


def test_collectors_on_a_gpu_get_a_fifth_of_it_by_default(make: Make) -> None:
    collector = make(
        Doubling,
        filling(0.15, 0.25),
        num_collectors=1,
        sync=True,
        frames_per_batch=8,
        total_frames=8,
        device=DEVICE,
    )
    (batch,) = list(collector)
    assert batch["fits"].reshape(-1, 2).unique(dim=0).tolist() == [[1.0, 0.0]]


def test_half_a_gpu_is_half_of_the_memory_that_cuda_reports(make: Make) -> None:
    # Time slicing: CUDA reports the whole GPU to each of its users.
    collector = make(
        Doubling,
        filling(0.45, 0.55),
        num_collectors=1,
        sync=True,
        frames_per_batch=4,
        total_frames=4,
        device=DEVICE,
        remote_configs={"num_cpus": 1, "num_gpus": 0.5},
    )
    (batch,) = list(collector)
    assert batch["fits"].reshape(-1, 2).unique(dim=0).tolist() == [[1.0, 0.0]]


def test_the_successor_of_a_killed_collector_gets_the_memory_that_it_held(make: Make) -> None:
    collector = make(
        Doubling,
        # Three of these do not fit.
        holding(0.35),
        num_collectors=2,
        sync=False,
        frames_per_batch=20,
        device=DEVICE,
        remote_configs={"num_cpus": 1, "num_gpus": 0.5},
    )
    batches = iter(collector)
    read_until(batches, lambda: all(row(collector, name).frames for name in ("c0", "c1")), "frames of both")
    victim, other = (collector._consumer.shared.gather.collectors.named(name) for name in ("c0", "c1"))
    before = {victim.id.incarnation, other.id.incarnation}
    os.kill(victim.pid, signal.SIGKILL)

    def successor_delivers() -> bool:
        batch = next(batches)
        assert batch["holds"].all()
        return not {int(one) >> 32 for one in batch[TRAJECTORY].flatten().tolist()} <= before

    eventually(successor_delivers, within=120, every=0, tolerate=(), what="frames of the successor")
    assert (row(collector, "c0").restarts, row(collector, "c1").restarts) == (1, 0)


def test_a_collector_without_gpu_memory_is_named_and_the_others_go_on(make: Make) -> None:
    collector = make(
        Doubling,
        None,
        policy_factory=[constant, lambda: holding(0.4), constant],
        num_collectors=3,
        min_available=2,
        sync=False,
        frames_per_batch=20,
        device=DEVICE,
        remote_configs={"num_cpus": 1, "num_gpus": 0.25},
    )
    batches = iter(collector)
    read_until(batches, lambda: "OutOfMemoryError" in (row(collector, "c1").last_error or ""), "the error of c1")
    assert "CUDA out of memory" in row(collector, "c1").last_error
    before = {name: row(collector, name).frames for name in ("c0", "c2")}
    read_until(
        batches, lambda: all(row(collector, name).frames > frames for name, frames in before.items()), "further frames"
    )
    assert row(collector, "c1").frames == 0
    assert [(row(collector, name).restarts, row(collector, name).last_error) for name in before] == [(0, None)] * 2
    assert numbers(next(batches)["where"]) == [1.0]
    assert available(collector) >= 2
