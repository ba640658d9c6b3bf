"""Frames that say their version themselves."""

from __future__ import annotations

from functools import partial
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import pytest
import torch
from tensordict import TensorDict
from tests import envs
from tests.tensor_envs import SelfResettingWalks
from torchrl.collectors import MultiAsyncCollector

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.inbox import Offer
from collectorfleet.actor.stamp import STAMP, SharedVersion, VersionStamp
from collectorfleet.codec import frames as keys
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import Request


@pytest.mark.parametrize(
    ("any_time", "recorded"),
    [
        pytest.param(False, [1, 3, 3, 4], id="weights come between steps"),
        pytest.param(True, [1, 1, 3, 3], id="weights come at any time"),
    ],
)
def test_a_frame_at_a_change_of_versions_records_the_older_one_where_weights_come_at_any_time(
    any_time: bool, recorded: list[int]
) -> None:
    shared = SharedVersion.create()
    stamp = VersionStamp(shared, any_time=any_time)
    found = []
    for version in (1, 3, 3, 4):
        shared.set(version)
        found.append(int(stamp._step(TensorDict(), TensorDict())[STAMP]))
    assert found == recorded


def test_the_version_is_written_beside_the_observation() -> None:
    env = envs.make_counting().append_transform(VersionStamp(SharedVersion.create(), any_time=False))
    assert env.rollout(2)["next", STAMP].tolist() == [0, 0]


WITH_A_STAMP = pytest.mark.parametrize(
    "options",
    [
        pytest.param({"options": {"trajs_per_batch": 1}}, id="whole trajectories"),
        pytest.param({"collector_class": MultiAsyncCollector, "workers": 2}, id="processes that never pause"),
    ],
)


@WITH_A_STAMP
def test_the_memory_of_a_built_collector_has_no_name_so_a_killed_collector_leaves_none(options: dict[str, Any]) -> None:
    runner = build(CollectorConfig(envs.make_counting, envs.make_policy(), 10, **options), 1)
    try:
        assert runner._shared is not None
        with pytest.raises(FileNotFoundError):
            SharedMemory(runner._shared._memory.name)
        assert runner.run(Request(1, 10, 0)).oldest_version == 0
    finally:
        runner.collector.shutdown()


@WITH_A_STAMP
def test_the_last_frame_of_an_episode_has_its_version_in_an_environment_that_resets_itself(
    options: dict[str, Any],
) -> None:
    policy = envs.make_policy()
    runner = build(CollectorConfig(partial(SelfResettingWalks, 2), policy, 40, **options), 1)
    offer: Offer | None = Offer(7, snapshots.take(snapshots.tensors_of(policy)))
    try:
        ended = versions = torch.empty(0, dtype=torch.bool)
        # Processes that never pause may first return rollouts that they began before they loaded the weights.
        while not (ended.any() and (versions[~ended] == 7).all()):
            rollout = runner.run(Request(1, 40, 0), offer)
            batch, offer = rollout.batch, None
            assert batch is not None
            mask = batch.get(keys.MASK_KEY, torch.ones(batch.shape, dtype=torch.bool))
            versions, ended = batch[keys.VERSION_KEY][mask], batch["next", "done"].squeeze(-1)[mask]
        assert set(versions[ended].tolist()) == {7}
        assert rollout.oldest_version == 7
    finally:
        runner.collector.shutdown()
