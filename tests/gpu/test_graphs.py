"""Policies that are compiled or recorded as CUDA graphs: each version of the weights acts."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.gpu.on_a_gpu import DEVICE, Doubling, captured, scaled
from tests.gpu.waits import grow, numbers, row
from tests.runtime.batches import VERSION, Make
from tests.wait import eventually

pytestmark = pytest.mark.usefixtures("ray_with_a_gpu")

# Triton builds its launcher for each machine.
BUILDS = any(map(shutil.which, ("gcc", "cc", "clang"))) and Path(sysconfig.get_path("include"), "Python.h").exists()
COMPILED = pytest.mark.skipif(not BUILDS, reason="left out: torch.compile needs a C compiler and Python.h")
WHOLE = {"num_cpus": 1, "num_gpus": 0.5}
# The fast loop steps these.
POLICY_ALONE = {"policy_device": DEVICE, "env_device": "cpu", "storing_device": "cpu"}


@COMPILED
@pytest.mark.parametrize(
    ("mode", "records"),
    [(True, False), ({"mode": "reduce-overhead"}, True)],
    ids=["by default", "with reduced overhead"],
)
def test_frames_of_a_compiled_policy_are_those_of_the_policy_for_each_version(
    make: Make, mode: Any, records: bool
) -> None:
    policy = scaled().to(DEVICE)
    collector = make(
        lambda: Doubling("cpu"),
        policy,
        num_collectors=1,
        sync=True,
        frames_per_batch=20,
        total_frames=80,
        update_after_each_batch=True,
        collector_kwargs={"compile_policy": mode},
        remote_configs=WHOLE,
        **POLICY_ALONE,
    )
    seen = []
    for batch in collector:
        with torch.no_grad():
            eager = policy(batch.select("observation").to(DEVICE))["action"]
        assert torch.equal(batch["action"], eager.cpu())
        assert torch.equal(batch["next", "reward"], 2 * batch["action"])
        seen.append((numbers(batch[VERSION]), numbers(batch["action"])))
        if len(seen) == 2:
            assert row(collector, "c0").rollout.startswith("Fast")
            (found,) = collector.map_fn("policy.module.counts")
            assert found["graphs"] >= 1
            assert (found["recorded"] > 0) is records
        grow(policy)
    assert seen == [([version], [version]) for version in range(1, 5)]


def test_frames_of_a_recorded_policy_are_those_of_the_policy_for_each_version(make: Make) -> None:
    policy = captured().to(DEVICE)
    collector = make(
        Doubling,
        policy,
        num_collectors=1,
        sync=True,
        frames_per_batch=20,
        total_frames=80,
        device=DEVICE,
        update_after_each_batch=True,
        collector_kwargs={"cudagraph_policy": True},
        remote_configs=WHOLE,
    )
    seen = []
    for batch in collector:
        assert torch.equal(batch["next", "reward"], 2 * batch["action"])
        seen.append((numbers(batch[VERSION]), numbers(batch["action"]), batch["captured"].flatten()[-1].item()))
        grow(policy)
    # The first steps warm up and record.
    assert seen == [([version], [version], 1.0) for version in range(1, 5)]


def test_a_recorded_policy_takes_new_weights_between_two_steps(make: Make) -> None:
    policy = captured().to(DEVICE)
    collector = make(
        Doubling,
        policy,
        num_collectors=1,
        sync=False,
        frames_per_batch=200,
        device=DEVICE,
        update_between_steps=True,
        collector_kwargs={"cudagraph_policy": True},
        remote_configs=WHOLE,
    )
    batches = iter(collector)

    def changes_within_a_batch() -> bool:
        batch = next(batches)
        # Frames say which version made them, to the step.
        assert batch["action"].flatten().tolist() == batch[VERSION].flatten().tolist()
        grow(policy)
        collector.update_policy_weights_()
        return len(numbers(batch[VERSION])) > 1 and bool(batch["captured"].all())

    eventually(changes_within_a_batch, within=120, every=0, tolerate=(), what="two versions in a batch")
