"""Collectors that share one GPU: fractions, frames and weights of CUDA."""

from __future__ import annotations

import pytest
import torch
from tests.gpu.on_a_gpu import DEVICE, Doubling, constant
from tests.runtime.batches import VERSION, Make, available
from tests.wait import eventually

pytestmark = pytest.mark.usefixtures("ray_with_a_gpu")


def test_four_collectors_of_a_quarter_work_at_once_and_a_fifth_waits(make: Make) -> None:
    collector = make(
        Doubling,
        constant(),
        num_collectors=5,
        min_available=4,
        frames_per_batch=40,
        sync=False,
        device=DEVICE,
        remote_configs={"num_cpus": 1, "num_gpus": 0.25},
    )
    batches = iter(collector)
    eventually(
        lambda: (next(batches), available(collector))[1], until=lambda n: n == 4, within=180, what="4 collectors"
    )
    for _ in range(8):
        assert next(batches)["where"].all()
    assert available(collector) == 4


def test_frames_of_a_gpu_come_to_the_driver_and_its_weights_go_to_the_collectors(make: Make) -> None:
    policy = constant().to(DEVICE)
    collector = make(
        Doubling,
        policy,
        num_collectors=2,
        sync=True,
        frames_per_batch=20,
        total_frames=100,
        device=DEVICE,
        update_after_each_batch=True,
        remote_configs={"num_cpus": 1, "num_gpus": 0.5},
    )
    seen = []
    for batch in collector:
        assert batch["where"].all()
        # The reward says which weights made the frame, and the stamp which version that was.
        seen.append((set(batch[VERSION].flatten().tolist()), set((batch["next", "reward"] / 2).flatten().tolist())))
        with torch.no_grad():
            for parameter in policy.parameters():
                parameter.add_(1)
    assert seen == [({version}, {float(version)}) for version in range(1, 6)]


def test_frames_that_are_kept_on_the_cpu_are_made_on_the_gpu(make: Make) -> None:
    collector = make(
        lambda: Doubling("cpu"),
        constant(),
        num_collectors=1,
        sync=True,
        frames_per_batch=10,
        total_frames=20,
        policy_device=DEVICE,
        env_device="cpu",
        storing_device="cpu",
        remote_configs={"num_cpus": 1, "num_gpus": 1},
    )
    seen = [(bool(batch["where"].all()), batch["next", "reward"].device.type) for batch in collector]
    assert seen == [(True, "cpu")] * 2
