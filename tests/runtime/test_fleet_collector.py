"""FleetCollector on a real Ray: what a user of TorchRL's RayCollector sees, and what happens when things break.

The policy's action is its one parameter, and the reward is twice that, so the data itself says which weights made it.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from tensordict import TensorDictBase
from tests import envs
from tests.runtime.batches import TRAJECTORY, VERSION, Make, available, learn
from tests.wait import eventually

from collectorfleet import FleetCollector, InvalidOption, TooFewCollectors, UserCodeError
from collectorfleet.gather.state.versions import PublishResult

pytestmark = pytest.mark.usefixtures("local_ray")


def made_by(batch: TensorDictBase) -> set[tuple[int, float]]:
    """(version, value of the weights) of every frame, from the stamp and from the reward."""
    versions = batch[VERSION].flatten().tolist()
    values = (batch["next", "reward"].flatten() / 2).tolist()
    return set(zip(versions, values, strict=True))


def test_sync_batches_are_stacked_shares_and_end_at_total_frames(make: Make) -> None:
    collector = make(total_frames=50)
    shapes = [tuple(batch.batch_size) for batch in collector]
    assert shapes == [(2, 10), (2, 10), (2, 10)]  # total_frames is a floor
    progress = collector.status().progress
    assert progress is not None
    assert (progress.frames_delivered, progress.frames_collected, progress.frames_discarded) == (60, 60, 0)


def test_async_batches_are_one_collectors_and_no_frame_is_lost(make: Make) -> None:
    collector = make({"length": 1000}, sync=False, total_frames=100)
    counts: dict[int, list[int]] = {}
    for batch in collector:
        assert tuple(batch.batch_size) == (20,)
        (life,) = set((batch[TRAJECTORY] >> 32).tolist())
        counts.setdefault(life, []).extend(batch["next", "observation"][:, 0].int().tolist())
    # Each environment counts its steps, and none of them is missing or comes twice.
    assert all(count == list(range(1, len(count) + 1)) for count in counts.values())
    progress = collector.status().progress
    assert progress is not None
    assert (progress.frames_delivered, progress.frames_collected, progress.frames_discarded) == (100, 100, 0)


@pytest.mark.parametrize(
    "options",
    # Without a bound, collectors that run ahead may be done before the first weights come.
    [{}, {"sync": False, "max_staleness": 1}, {"split_trajs": True}, {"trajs_per_batch": 4}],
    ids=str,
)
def test_episodes_are_counted_that_end_in_the_frames_wherever_batches_do(make: Make, options: dict[str, Any]) -> None:
    """Of four steps each, so that every batch ends in the middle of one."""
    collector = make({"length": 4}, total_frames=100, update_after_each_batch=True, **options)
    for _ in collector:
        learn(collector)
    progress = collector.status().progress
    assert progress is not None
    seen = progress.episodes
    assert seen is not None
    # The last of each collector may go on, and not all that was collected has been handed out.
    assert 15 <= seen.ended <= progress.frames_collected // 4
    assert (seen.averaged, seen.length_mean) == (seen.ended, 4)
    assert seen.return_min is not None
    assert seen.return_max is not None
    assert seen.return_min < seen.return_max  # the policy learns


def test_the_number_of_batches_is_known_beforehand_as_in_torchrl(make: Make) -> None:
    assert len(make(total_frames=50)) == 3


def test_an_endless_collector_goes_on(make: Make) -> None:
    collector = make(total_frames=-1)
    batches = iter(collector)
    assert [next(batches).numel() for _ in range(5)] == [20] * 5


def test_on_policy_batches_are_made_by_the_newest_weights_and_no_others(make: Make) -> None:
    collector = make(total_frames=100, update_after_each_batch=True)
    seen = []
    for batch in collector:
        seen.append(made_by(batch))
        learn(collector)
    assert seen == [{(n + 1, float(n))} for n in range(5)]
    weights = collector.status().weights
    assert weights is not None
    assert (weights.published, weights.acknowledged, weights.staleness.max) == (5, 5, 0)


LOOKS_AHEAD_ELSEWHERE = pytest.mark.variant_of(
    "tests/runtime/test_fleet_collector.py::test_look_ahead_stays_within_the_bound_and_versions_are_true"
)


@pytest.mark.parametrize(
    ("sync", "bound"),
    [
        pytest.param(True, 1, marks=LOOKS_AHEAD_ELSEWHERE),
        (True, 2),
        (False, 1),
        pytest.param(False, 3, marks=LOOKS_AHEAD_ELSEWHERE),
    ],
)
def test_look_ahead_stays_within_the_bound_and_versions_are_true(make: Make, sync: bool, bound: int) -> None:
    collector = make(total_frames=240, update_after_each_batch=True, sync=sync, max_staleness=bound)
    stalest = 0
    for number, batch in enumerate(collector):
        for version, value in made_by(batch):
            assert value == version - 1
            stalest = max(stalest, number + 1 - version)
        learn(collector)
    assert 0 < stalest <= bound


def test_weights_published_by_hand_are_acknowledged_by_every_collector(make: Make) -> None:
    collector = make(sync=False)
    eventually(lambda: available(collector) == 2, within=60, what="two collectors")
    learn(collector)
    assert collector.update_policy_weights_(wait=True) == {
        "c0": PublishResult(2, acknowledged=True),
        "c1": PublishResult(2, acknowledged=True),
    }
    status = collector.status()
    assert status.weights is not None
    assert status.weights.published == status.weights.acknowledged == 2
    assert [row.applied_version for row in status.collectors] == [2, 2]


def test_trajectory_ids_of_different_collectors_differ(make: Make) -> None:
    batch = next(iter(make(num_collectors=2, frames_per_batch=80)))
    first, second = (set(share[TRAJECTORY].flatten().tolist()) for share in batch)
    assert first
    assert not first & second


def test_collectors_draw_different_actions_without_being_seeded(make: Make) -> None:
    batch = next(iter(make(policy=envs.make_noisy_policy())))
    assert not torch.equal(batch[0]["action"], batch[1]["action"])


def test_a_batch_belongs_to_the_consumer(make: Make) -> None:
    batches = iter(make(sync=False))
    kept = next(batches)
    before = kept.clone()
    kept["observation"] += 0  # writable
    for _ in range(6):
        next(batches)
    assert (kept == before).all()


def test_a_killed_collector_is_replaced_and_frames_go_on(make: Make, tmp_path: Path) -> None:
    env = {"misbehaves": "die", "at": 35, "once": str(tmp_path / "died")}
    collector = make(env, total_frames=200, update_after_each_batch=True)
    seen = []
    for batch in collector:
        seen.append(made_by(batch))
        learn(collector)
    assert seen == [{(n + 1, float(n))} for n in range(10)]  # a replacement delivers nothing of old weights
    report = collector.status()
    assert report.progress is not None
    assert (report.progress.frames_delivered, report.progress.frames_discarded) == (200, 0)
    assert any(row.last_error for row in report.collectors)


def test_a_hung_collector_misses_its_deadline_and_is_replaced(make: Make, tmp_path: Path) -> None:
    env = {"misbehaves": "hang", "at": 35, "once": str(tmp_path / "hung")}
    collector = make(env, total_frames=120, request_timeout=timedelta(seconds=2))
    assert sum(batch.numel() for batch in collector) == 120
    assert any("no batch within" in (row.last_error or "") for row in collector.status().collectors)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        pytest.param({"misbehaves": "raise when built"}, "ValueError: no such game", id="constructor"),
        pytest.param({"misbehaves": "raise"}, "ValueError: the game is broken", id="step"),
    ],
)
def test_an_error_of_the_environment_ends_the_run_with_its_own_words(
    make: Make, env: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserCodeError) as raised:
        list(make(env, total_frames=100))
    assert words in str(raised.value)
    assert "environment" in str(raised.value)
    assert "(collector c" in str(raised.value)


def test_an_error_of_the_policy_ends_the_run_with_its_own_words(make: Make) -> None:
    with pytest.raises(UserCodeError, match="ZeroDivisionError: the policy is broken"):
        list(make(policy=envs.make_broken_policy(), total_frames=100))


def test_a_fleet_that_cannot_start_says_so_instead_of_hanging(make: Make) -> None:
    with pytest.raises(TooFewCollectors, match="0 of 2 collectors available"):
        list(
            make(
                total_frames=100,
                remote_configs={"num_cpus": 1000},
                available_timeout=timedelta(seconds=2),
            )
        )


def test_the_fleet_grows_and_shrinks_while_it_collects(make: Make) -> None:
    collector = make(sync=False, num_collectors=1)
    batches = iter(collector)
    next(batches)

    def available_after_another_batch() -> int:
        next(batches)
        return available(collector)

    collector.resize(2)
    eventually(available_after_another_batch, until=lambda n: n == 2, within=60, what="two collectors")
    collector.resize(1)
    eventually(available_after_another_batch, until=lambda n: n == 1, within=60, what="one collector")
    assert next(batches).numel() == 20


def test_arguments_that_cannot_work_are_refused_with_the_numbers() -> None:
    env = envs.make_counting
    with pytest.raises(InvalidOption, match="21 cannot be divided into 2"):
        FleetCollector(env, envs.make_policy(), frames_per_batch=21, num_collectors=2, sync=True)
    with pytest.raises(InvalidOption, match="max_staleness"):
        FleetCollector(env, envs.make_policy(), frames_per_batch=20, num_collectors=2, sync=False, max_staleness=0)
