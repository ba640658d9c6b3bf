"""Where frames, specs and weights of a GPU go: a replay buffer, collectors without a GPU, processes of a collector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import ray
import torch
from tensordict import TensorDict
from tests.gpu.on_a_gpu import DEVICE, Doubling, bounded, constant
from tests.gpu.waits import grow, numbers
from tests.runtime.batches import VERSION, Make
from torchrl.data import LazyTensorStorage, ReplayBuffer

from collectorfleet.codec import snapshot
from collectorfleet.codec.snapshot import digest
from collectorfleet.codec.tensors import decode, encode

pytestmark = pytest.mark.usefixtures("ray_with_a_gpu")


def test_frames_are_encoded_by_way_of_pinned_memory() -> None:
    torch.manual_seed(0)
    numbers = torch.randn(64, 256, device=DEVICE)
    batch = TensorDict(
        {
            "float": numbers,
            "transposed": numbers.t().reshape(256, 64).t(),
            "bfloat16": numbers.bfloat16(),
            "bool": numbers > 0,
            "expanded": numbers[:, :1].expand(64, 256),
            "host": torch.arange(64),
            "next": {"float": numbers + 1},
        },
        [64],
    )
    for _ in range(20):
        # The copies begin behind this, and are waited for.
        torch.linalg.matrix_power(torch.randn(2048, 2048, device=DEVICE) / 50, 9)
        batch["late"] = torch.rand(64, 256, device=DEVICE).cumsum(1)
        encoded = encode(batch)
        found = decode(encoded)
        assert sorted(found.keys(True, True), key=str) == sorted(batch.keys(True, True), key=str)
        for key in batch.keys(True, True):
            assert torch.equal(found.get(key), batch.get(key).cpu()), key
        assert torch.from_numpy(encoded.arrays[0]).is_pinned()


def test_published_weights_are_those_of_the_gpu() -> None:
    policy = bounded(DEVICE)
    for dtype in (None, torch.bfloat16):
        for _ in range(20):
            with torch.no_grad():
                for parameter in policy.parameters():
                    parameter.copy_(torch.linalg.matrix_power(torch.randn(2048, 2048, device=DEVICE) / 50, 9).mean())
            state = {name: parameter.detach() for name, parameter in policy.named_parameters()}
            found = snapshot.take(state, dtype=dtype)
            host = {name: tensor.cpu() for name, tensor in state.items()}
            assert digest(found.arrays) == digest(snapshot.take(host, dtype=dtype).arrays)


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
