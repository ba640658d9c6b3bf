"""Where frames, specs and weights of a GPU go: a replay buffer, collectors without a GPU, processes of a collector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import ray
import torch
from tests.gpu.on_a_gpu import DEVICE, Doubling, bounded, constant
from tests.gpu.waits import VERSION, Make, grow, numbers
from torchrl.data import LazyTensorStorage, ReplayBuffer

pytestmark = pytest.mark.usefixtures("ray_with_a_gpu")


@pytest.fixture
def buffer() -> Iterator[Any]:
    made: Any = ReplayBuffer(
        storage=partial(LazyTensorStorage, 1000),
        batch_size=16,
        service_backend="ray",
        service_backend_options={"remote_config": {"num_cpus": 0}},
    )
    yield made
    ray.kill(made._rb)


def test_frames_of_a_gpu_are_written_to_a_replay_buffer_that_has_none(make: Make, buffer: Any) -> None:
    assert not ray.get(buffer._rb.__ray_call__.remote(lambda _: torch.cuda.is_available()))
    collector = make(
        Doubling,
        constant(),
        num_collectors=1,
        sync=True,
        frames_per_batch=20,
        total_frames=40,
        device=DEVICE,
        replay_buffer=buffer,
        remote_configs={"num_cpus": 1, "num_gpus": 0.5},
    )
    assert list(collector) == [None, None]
    assert collector.getattr_rb("write_count") == 40
    sample = buffer.sample()
    assert numbers(sample["where"]) == [1.0]
    assert {entry.device.type for entry in sample.values(True, True)} == {"cpu"}


@pytest.mark.parametrize(
    ("create", "options"),
    [
        (partial(Doubling, "cpu"), {"remote_configs": {"num_cpus": 1, "num_gpus": 0}}),
        (Doubling, {"device": DEVICE, "remote_configs": {"num_cpus": 1, "num_gpus": 0.5}}),
    ],
    ids=["without a GPU", "on a GPU"],
)
def test_a_policy_with_its_spec_on_a_gpu_acts_in_a_collector(
    make: Make, create: Callable[[], Doubling], options: dict[str, Any]
) -> None:
    collector = make(
        create, bounded(DEVICE), num_collectors=1, sync=True, frames_per_batch=20, total_frames=40, **options
    )
    batches = list(collector)
    assert len(batches) == 2
    for batch in batches:
        assert batch["action"].abs().max() <= 1
        assert torch.equal(batch["next", "reward"], 2 * batch["action"])


@pytest.mark.parametrize(
    ("create", "devices"),
    [
        (Doubling, {"device": DEVICE}),
        (partial(Doubling, "cpu"), {"policy_device": DEVICE, "env_device": "cpu", "storing_device": "cpu"}),
    ],
    ids=["frames on the GPU", "frames on the CPU"],
)
def test_processes_of_a_collector_deliver_after_the_driver_has_used_cuda(
    make: Make, create: Callable[[], Doubling], devices: dict[str, str]
) -> None:
    policy = constant().to(DEVICE)
    assert torch.cuda.is_initialized()
    collector = make(
        create,
        policy,
        num_collectors=1,
        collector_class="sync",
        num_workers_per_collector=2,
        sync=True,
        frames_per_batch=20,
        total_frames=60,
        update_after_each_batch=True,
        remote_configs={"num_cpus": 1, "num_gpus": 0.5},
        **devices,
    )
    seen = []
    for batch in collector:
        seen.append((numbers(batch[VERSION]), numbers(batch["next", "reward"] / 2)))
        grow(policy)
    assert seen == [([version], [version]) for version in range(1, 4)]
