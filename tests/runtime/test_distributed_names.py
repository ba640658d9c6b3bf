"""Code around TorchRL's other distributed collectors, with ours in their place; each shows a fault of theirs absent."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from tests import envs
from tests.runtime.batches import VERSION, learn
from tests.wait import eventually

import collectorfleet

TRAJECTORY = ("collector", "traj_ids")
Make = Callable[..., Any]


@pytest.fixture
def made() -> Iterator[Make]:
    """Makes collectors by name, two of counting environments, which are shut down after the test."""
    collectors: list[collectorfleet.FleetCollector] = []

    def one(name: str, **options: Any) -> collectorfleet.FleetCollector:
        given = {"policy": envs.make_policy(), "frames_per_batch": 20, "launcher": "mp"} | options
        builds = [partial(envs.make_counting, length=length) for length in (4, 7)]
        collectors.append(getattr(collectorfleet, name)(builds, given.pop("policy"), **given))
        return collectors[-1]

    yield one
    for collector in collectors:
        collector.shutdown(timeout=20)


@pytest.mark.usefixtures("local_ray")
@pytest.mark.parametrize("launcher", ["mp", "ray"])
def test_the_sync_one_hands_out_what_the_newest_weights_made_and_each_collectors_own(made: Make, launcher: str) -> None:
    collector = made("DistributedSyncCollector", total_frames=60, launcher=launcher)
    batches = []
    for number, batch in enumerate(collector, 1):
        assert set(batch[VERSION].flatten().tolist()) == {number}
        batches.append(batch.clone())
        learn(collector)
    assert [tuple(batch.batch_size) for batch in batches] == [(2, 10)] * 3
    # Episodes of 4 and of 7 steps: no collector's data is another's, nor a later batch's.
    ends = torch.cat([batch["next", "done"] for batch in batches], 1).squeeze(-1)
    assert [row.nonzero().flatten().tolist() for row in ends] == [list(range(3, 30, 4)), list(range(6, 30, 7))]


@pytest.mark.parametrize("name", ["DistributedCollector", "RPCCollector"])
def test_the_others_hand_out_batches_of_one_collector_as_they_come(made: Make, name: str) -> None:
    batches = [batch.clone() for batch in made(name, total_frames=100, update_after_each_batch=True)]
    assert [tuple(batch.batch_size) for batch in batches] == [(20,)] * 5
    # Two batches of one collector may have frames of one episode.
    assert len({frozenset(batch[TRAJECTORY].tolist()) for batch in batches}) == 5


def test_rpc_has_options_of_tensorpipe_an_interval_and_a_seed_with_sync_and_without_end(made: Make) -> None:
    options = {"num_worker_threads": 4, "rpc_timeout": 30, "_transports": ["shm", "uv"]}
    collector = made(
        "RPCCollector",
        sync=True,
        total_frames=-1,
        max_weight_update_interval=2,
        tensorpipe_options=options,
        visible_devices=["cpu", "cuda:3"],
    )
    versions = []
    for batch in itertools.islice(collector, 6):
        versions.append(set(batch[VERSION].flatten().tolist()))
        learn(collector)
    assert versions == [{1}, {1}, {2}, {2}, {3}, {3}]
    assert isinstance(collector.set_seed(3), int)
    assert options == {"num_worker_threads": 4, "rpc_timeout": 30, "_transports": ["shm", "uv"]}


def test_rpcs_sync_batches_have_ids_of_their_trajectories(made: Make) -> None:
    batch = next(iter(made("RPCCollector", sync=True, total_frames=20)))
    ids = batch[TRAJECTORY]
    assert [row.unique_consecutive().numel() for row in ids] == [3, 2]
    assert ids.unique().numel() == 5


def test_endless_collection_a_seed_and_a_lost_collector(made: Make) -> None:
    collector = made("DistributedCollector", total_frames=-1, sync=True)
    batches = iter(collector)
    next(batches)
    assert isinstance(collector.set_seed(3), int)
    os.kill(collector.remote_collectors[0].pid, signal.SIGKILL)
    for _ in range(10):
        assert tuple(next(batches).batch_size) == (2, 10)
    eventually(lambda: collector.status().progress.collectors.restarts == 1, within=60, what="a replacement")


def test_no_policy_acts_at_random(made: Make) -> None:
    batch = next(iter(made("DistributedCollector", policy=None, total_frames=20)))
    assert batch["action"].std() > 0
