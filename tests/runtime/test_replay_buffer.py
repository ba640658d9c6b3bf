"""A replay buffer that collectors write to: whoever joins later, and what its end is called."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import ray
import torch
from tensordict import TensorDict, TensorDictBase
from tests import envs
from tests.runtime.batches import Make
from tests.runtime.conftest import MakeBuffer
from tests.wait import eventually
from torchrl.envs.transforms import Transform

from collectorfleet import InfrastructureError, UserCodeError
from collectorfleet.run.checkpoint.kept_buffer import KeptBuffer
from collectorfleet.run.driver_code import TrainingFunction
from collectorfleet.run.handle import Run
from collectorfleet.run.work import train

pytestmark = pytest.mark.usefixtures("local_ray")

WAYS = ["ray", "distributed"]


def kill(buffer: Any) -> None:
    pid = ray.get(buffer._rb.__ray_call__.remote(lambda _: os.getpid()))
    os.kill(pid, signal.SIGKILL)


def test_attributes_of_the_buffer_are_asked_for_as_trainers_do(make: Make, make_buffer: MakeBuffer) -> None:
    collector = make(replay_buffer=make_buffer(), total_frames=40)
    assert all(batch is None for batch in collector)
    assert collector.getattr_rb("write_count") == 40


@pytest.mark.parametrize("transport", WAYS)
def test_collectors_that_come_later_write_like_the_first_ones(
    make: Make, make_buffer: MakeBuffer, transport: str
) -> None:
    buffer = make_buffer(transport=transport)
    collector = make(replay_buffer=buffer, num_collectors=1)
    batches = iter(collector)
    next(batches)
    collector.resize(2)

    def all_wrote() -> bool:
        next(batches)
        rows = collector.status().collectors
        return len(rows) == 2 and all(row.frames > 0 for row in rows)

    eventually(all_wrote, within=60, every=0, what="frames of both")
    first = collector._consumer.shared.gather.collectors.named("c0")
    assert first is not None
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)

    def replaced() -> bool:
        next(batches)
        found = collector._consumer.shared.gather.collectors.named("c0")
        return found is not None and found.id != first.id and found.answered

    eventually(replaced, within=60, every=0, what="frames of the next incarnation")
    progress = collector.status().progress
    assert progress is not None
    # A killed collector may have written what it did not answer any more.
    assert buffer.write_count >= progress.frames_delivered


@pytest.mark.parametrize(
    "transport",
    [
        "ray",
        pytest.param(
            "distributed",
            marks=pytest.mark.variant_of(
                "tests/runtime/test_replay_buffer.py::test_a_buffer_that_is_lost_before_a_collector_starts_is_named_too"
            ),
        ),
    ],
)
def test_a_lost_buffer_ends_the_fleet_by_its_name_and_costs_no_collector_a_restart(
    make: Make, make_buffer: MakeBuffer, transport: str
) -> None:
    buffer = make_buffer(transport=transport)
    collector = make(replay_buffer=buffer)
    batches = iter(collector)
    next(batches)
    kill(buffer)
    # Ray may not know of the death yet when a collector writes.
    with pytest.raises(
        InfrastructureError, match=r"^replay buffer: its actor and its content were lost.*(has died|is unavailable)"
    ):
        list(batches)
    assert [(row.restarts, row.last_error) for row in collector.status().collectors] == [(0, None)] * 2


def test_a_buffer_that_is_lost_before_a_collector_starts_is_named_too(make: Make, make_buffer: MakeBuffer) -> None:
    buffer = make_buffer(transport="distributed")
    collector = make(replay_buffer=buffer, num_collectors=1)
    batches = iter(collector)
    next(batches)
    with collector.pause():
        kill(buffer)
        collector.resize(2)
    with pytest.raises(InfrastructureError, match=r"^replay buffer: its actor and its content were lost"):
        list(batches)


class Refuses(Transform):
    """Of a user's buffer."""

    def _inv_call(self, tensordict: TensorDictBase) -> TensorDictBase:
        raise KeyError("no such frames")


def test_an_error_of_the_buffers_own_code_is_the_users(make: Make, make_buffer: MakeBuffer) -> None:
    collector = make(
        create_env_fn=envs.make_counting, replay_buffer=make_buffer(transform_factory=Refuses), num_collectors=1
    )
    with pytest.raises(UserCodeError, match=r"^replay buffer \(collector c0\): KeyError: 'no such frames'"):
        next(iter(collector))


def test_a_training_function_that_samples_from_a_lost_buffer_is_not_blamed(make_buffer: MakeBuffer) -> None:
    buffer = make_buffer()
    samples = TrainingFunction("my_train:train", lambda collector, _: collector.replay_buffer.sample(), {})
    # As far as a training function is called with one.
    collector: Any = SimpleNamespace(replay_buffer=buffer)
    with pytest.raises(UserCodeError, match=r"^train my_train:train: "):
        train(samples, collector, Run())  # it is empty
    kill(buffer)
    with pytest.raises(InfrastructureError, match=r"^replay buffer: its actor and its content were lost"):
        train(samples, collector, Run())


def test_an_actor_without_room_for_its_first_dump_refuses_it_and_dumps_once_there_is_room(
    make_buffer: MakeBuffer, tmp_path: Path
) -> None:
    def fill(_: Any) -> None:
        patch.object(shutil, "disk_usage", return_value=SimpleNamespace(free=39_999)).start()

    def make_room(_: Any) -> None:
        patch.stopall()

    buffer = make_buffer()
    buffer.extend(TensorDict({"x": torch.ones(3)}, [3]))
    kept = KeptBuffer(buffer)
    ray.get(buffer._rb.__ray_call__.remote(fill))
    with pytest.raises(
        OSError, match=r"No space left on device \(40,000 bytes needed for a dump of the buffer, 39,999 "
    ):
        kept.dump(tmp_path / "refused")
    ray.get(buffer._rb.__ray_call__.remote(make_room))
    assert kept.dump(tmp_path / "dump")
