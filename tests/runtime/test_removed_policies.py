"""Learner shards on a real Ray: frames of removed policies after an actor or the shards restart."""

from __future__ import annotations

import asyncio
import errno
import threading
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
import ray
from tensordict import TensorDictBase
from tests.runtime.conftest import MakeShards
from tests.runtime.learners import FailsOnce, add_with_frames, again, frames, kill
from tests.wait import eventually

from collectorfleet import InfrastructureError, UserCodeError
from collectorfleet.learners.replay import PolicyReplay

if TYPE_CHECKING:
    from collectorfleet import LearnerShards

pytestmark = pytest.mark.usefixtures("local_ray")


def test_a_policy_that_was_removed_after_the_last_checkpoint_resumes_from_it(
    make_shards: MakeShards, tmp_path: Path
) -> None:
    """The index of the checkpoint names the policy's file until the next checkpoint."""
    before = make_shards(checkpoint_dir=tmp_path / "before")
    ray.get(before.add_policy("a").learn.remote(frames(3.0)))
    before.checkpoint()
    [file] = (tmp_path / "before").glob("policy-a-*.pt")
    before.remove_policy("a")
    before.add_policy("a")
    before.stop()
    after = make_shards(checkpoint_dir=tmp_path / "after", resume_from=tmp_path / "before")
    assert ray.get(after.add_policy("a").seen.remote()) == 3.0
    after.checkpoint()
    after.remove_policy("a")
    after.checkpoint()
    assert file.exists()
    assert not list((tmp_path / "after").glob("policy-a-*.pt"))


def test_after_a_removal_others_resume_the_last_checkpoint_and_nothing_later(
    make_shards: MakeShards, tmp_path: Path
) -> None:
    before = make_shards(checkpoint_dir=tmp_path / "before", shards=1)
    (replay,) = before.get_replay_actors()
    add_with_frames(before, "stays", "leaves")
    before.checkpoint()
    before.add_policy("new")
    ray.get([replay.extend.remote(policy_id, frames(2.0, 4)) for policy_id in ("stays", "new")])
    before.remove_policy("leaves")
    before.stop()
    after = make_shards(checkpoint_dir=tmp_path / "after", resume_from=tmp_path / "before", shards=1)
    assert after.resumes == {"stays", "leaves"}
    after.add_policies({"new": {}, "leaves": {}, "stays": {}})
    (replay,) = after.get_replay_actors()
    assert ray.get([replay.size.remote(policy_id) for policy_id in ("stays", "leaves", "new")]) == [8, 8, 0]


class Asynchronous(PolicyReplay):
    """An actor with coroutines, as a user may write one."""

    async def forget(self, policy_id: str) -> None:
        await asyncio.sleep(0)
        super().forget(policy_id)


def test_an_asynchronous_replay_actor_drops_frames_of_a_removed_policy_after_a_restart(
    make_shards: MakeShards, tmp_path: Path
) -> None:
    shards = make_shards(checkpoint_dir=tmp_path, shards=1, replay_class=Asynchronous)
    add_with_frames(shards, "stays", "leaves")
    shards.checkpoint()
    shards.remove_policy("leaves")
    assert frames_after_a_restart(shards) == {"stays": 8, "leaves": 0}


@pytest.fixture
def resumed(make_shards: MakeShards, tmp_path: Path) -> LearnerShards:
    """Shards with the policy ``stays``, which resume frames of it and of ``leaves``."""
    options: Any = {"replay_class": FailsOnce, "replay_config": {"folder": str(tmp_path)}, "shards": 1}
    before = make_shards(checkpoint_dir=tmp_path / "before", **options)
    add_with_frames(before, "stays", "leaves")
    before.checkpoint()
    before.stop()
    after = make_shards(checkpoint_dir=tmp_path / "after", resume_from=tmp_path / "before", **options)
    after.add_policy("stays")
    return after


def frames_after_a_restart(shards: LearnerShards) -> dict[str, int]:
    """How many frames the replay actor has of each policy after it was killed and resumed its checkpoint."""
    (replay,) = shards.get_replay_actors()
    kill(replay)
    return {policy_id: again(partial(replay.size.remote, policy_id)) for policy_id in ("stays", "leaves")}


def test_frames_that_could_not_be_dropped_are_dropped_by_the_next_checkpoint(
    resumed: LearnerShards, tmp_path: Path
) -> None:
    (tmp_path / "forget raises").touch()
    with pytest.raises(UserCodeError, match="cannot forget"):
        resumed.checkpoint()
    assert [path.name for path in (tmp_path / "after").iterdir()] == ["dropped.json"]
    resumed.checkpoint()
    assert frames_after_a_restart(resumed) == {"stays": 8, "leaves": 0}


def test_frames_are_dropped_again_if_the_replay_actor_is_lost_before_it_is_written(
    resumed: LearnerShards, tmp_path: Path
) -> None:
    (tmp_path / "write dies").touch()
    resumed.checkpoint()
    assert not (tmp_path / "write dies").exists()
    assert frames_after_a_restart(resumed) == {"stays": 8, "leaves": 0}


def test_a_removed_policy_stays_removed_after_a_restart_and_no_frames_are_written(
    resumed: LearnerShards, tmp_path: Path
) -> None:
    resumed.checkpoint()
    (tmp_path / "write raises").touch()
    resumed.remove_policy("stays")
    assert frames_after_a_restart(resumed) == {"stays": 0, "leaves": 0}
    (tmp_path / "write raises").unlink()
    resumed.add_policy("stays")
    (replay,) = resumed.get_replay_actors()
    ray.get(replay.extend.remote("stays", frames(2.0, 4)))
    resumed.checkpoint()
    assert frames_after_a_restart(resumed) == {"stays": 4, "leaves": 0}


def test_a_policy_that_is_added_again_before_the_first_checkpoint_has_no_resumed_frames(
    resumed: LearnerShards,
) -> None:
    resumed.remove_policy("stays")
    resumed.add_policy("stays")
    assert frames_after_a_restart(resumed) == {"stays": 0, "leaves": 8}
    resumed.checkpoint()
    assert frames_after_a_restart(resumed) == {"stays": 0, "leaves": 0}


def test_a_removal_before_the_first_checkpoint_writes_no_frames_and_the_checkpoint_drops_the_frames(
    resumed: LearnerShards, tmp_path: Path
) -> None:
    resumed.add_policy("new")
    (tmp_path / "write raises").touch()
    for policy_id in ("stays", "new"):
        resumed.remove_policy(policy_id)
    assert (tmp_path / "write raises").exists()
    (replay,) = resumed.get_replay_actors()
    assert ray.get(replay.size.remote("stays")) == 0
    (tmp_path / "write raises").unlink()
    assert frames_after_a_restart(resumed) == {"stays": 0, "leaves": 8}
    resumed.checkpoint()
    assert frames_after_a_restart(resumed) == {"stays": 0, "leaves": 0}


class Waiting(PolicyReplay):
    """A replay actor whose checkpoint waits for the file ``gate`` if there is the file ``wait``."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = Path(folder)

    def state_dict(self) -> dict[str, list[TensorDictBase]]:
        if (self._folder / "wait").exists():
            eventually((self._folder / "gate").exists, within=60)
        return super().state_dict()


@pytest.mark.parametrize("is_first", [True, False], ids=["the first", "a later one"])
def test_a_checkpoint_that_ends_after_a_removal_does_not_bring_the_removed_policy_back(
    make_shards: MakeShards, tmp_path: Path, is_first: bool
) -> None:
    options: Any = {"replay_class": Waiting, "replay_config": {"folder": str(tmp_path)}, "shards": 1}
    shards = make_shards(checkpoint_dir=tmp_path / "kept", **options)
    add_with_frames(shards, "stays", "leaves")
    if not is_first:
        shards.checkpoint()
    (tmp_path / "wait").touch()
    with pytest.raises(InfrastructureError, match="it is busy or stuck"):
        shards.checkpoint(timeout=timedelta(seconds=1))
    opens = threading.Timer(1.0, (tmp_path / "gate").touch)
    opens.start()
    shards.remove_policy("leaves")
    opens.join()
    assert frames_after_a_restart(shards) == {"stays": 0 if is_first else 8, "leaves": 0}


def test_a_removal_on_a_full_volume_drops_the_frames_now_and_the_next_checkpoint_drops_them_for_good(
    resumed: LearnerShards,
) -> None:
    resumed.checkpoint()
    (replay,) = resumed.get_replay_actors()
    full = OSError(errno.ENOSPC, "No space left on device")
    with patch("collectorfleet.learners.dropped.write_json", side_effect=full):
        with pytest.raises(OSError, match="No space left on device"):
            resumed.remove_policy("stays")
        assert len(resumed) == 0
        assert ray.get(replay.size.remote("stays")) == 0
        # After a restart, the new policy would have the frames of the removed policy.
        with pytest.raises(OSError, match="No space left on device"):
            resumed.add_policy("stays")
        assert len(resumed) == 0
    resumed.checkpoint()
    assert frames_after_a_restart(resumed) == {"stays": 0, "leaves": 0}
    resumed.add_policy("stays")


def test_a_policy_whose_frames_are_in_another_shard_leaves_no_frames_there(
    make_shards: MakeShards, tmp_path: Path
) -> None:
    before = make_shards(checkpoint_dir=tmp_path / "before", max_policies=2)
    for policy_id in ("a", "b"):
        before.add_policy(policy_id)
        replay, _ = before.get_replay_and_policy_actors(policy_id)
        ray.get(replay.extend.remote(policy_id, frames(1.0, 8)))
    before.checkpoint()
    shards = make_shards(checkpoint_dir=tmp_path / "after", resume_from=tmp_path / "before", max_policies=2)
    shards.add_policies({"new": {}, "a": {}})  # the new policy gets the earlier place of a
    assert (shards.shard_of("new"), shards.shard_of("a")) == (0, 1)
    shards.remove_policy("a")
    shards.remove_policy("new")
    shards.add_policy("a")
    assert shards.shard_of("a") == 0
    replay, _ = shards.get_replay_and_policy_actors("a")
    assert ray.get(replay.size.remote("a")) == 0


def test_frames_that_a_removal_could_not_drop_are_dropped_by_the_next_checkpoint(
    resumed: LearnerShards, tmp_path: Path
) -> None:
    resumed.checkpoint()
    (tmp_path / "forget raises").touch()
    with pytest.raises(UserCodeError, match="cannot forget"):
        resumed.remove_policy("stays")
    assert len(resumed) == 0
    resumed.checkpoint()
    assert frames_after_a_restart(resumed) == {"stays": 0, "leaves": 0}


def test_a_new_policy_does_not_have_frames_of_a_removed_one_that_could_not_be_dropped(
    resumed: LearnerShards, tmp_path: Path
) -> None:
    (tmp_path / "forget raises").touch()
    with pytest.raises(UserCodeError, match="cannot forget"):
        resumed.remove_policy("stays")
    (tmp_path / "forget raises").touch()
    with pytest.raises(UserCodeError, match="cannot forget"):
        resumed.add_policy("stays")
    resumed.add_policy("stays")
    (replay,) = resumed.get_replay_actors()
    assert ray.get(replay.size.remote("stays")) == 0
    ray.get(replay.extend.remote("stays", frames(2.0, 4)))
    resumed.checkpoint()
    assert frames_after_a_restart(resumed) == {"stays": 4, "leaves": 0}
