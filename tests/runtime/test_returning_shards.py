"""Learner shards on a real Ray: what is killed, or ends, and comes back from its checkpoint."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError
from tensordict import TensorDictBase
from tests.runtime.conftest import MakeShards
from tests.runtime.learners import DiesOnce, FailsOnce, TooLarge, frames, pid_of
from tests.wait import eventually

from collectorfleet import InfrastructureError, InvalidOption, UserCodeError
from collectorfleet.learners.replay import PolicyReplay
from collectorfleet.learners.returning import steps_of
from collectorfleet.run.spec_learners.run_learners import RunLearners

if TYPE_CHECKING:
    from collectorfleet import LearnerShards

pytestmark = pytest.mark.usefixtures("local_ray")


def kill(actor: Any) -> None:
    # An actor that was lost before may not be back yet.
    os.kill(again(lambda: actor.__ray_call__.remote(lambda _: os.getpid())), signal.SIGKILL)


def again(ask: Callable[[], Any]) -> Any:
    """What an actor answers that is being built anew."""
    found = eventually(
        lambda: [ray.get(ask(), timeout=60)], within=60, tolerate=(ActorUnavailableError, ActorDiedError)
    )
    return found[0]


def add_with_frames(shards: LearnerShards, *policy_ids: str) -> None:
    """Add policies, each with 8 frames."""
    for policy_id in policy_ids:
        shards.add_policy(policy_id)
        replay, _ = shards.get_replay_and_policy_actors(policy_id)
        ray.get(replay.extend.remote(policy_id, frames(1.0, 8)))


def test_a_policy_that_comes_again_begins_anew(make_shards: MakeShards, tmp_path: Path) -> None:
    shards = make_shards(checkpoint_dir=tmp_path)
    ray.get(shards.add_policy("a").learn.remote(frames(3.0)))
    shards.checkpoint()
    shards.remove_policy("a")
    assert ray.get(shards.add_policy("a").seen.remote()) == 0.0


def test_a_killed_policy_comes_back_in_its_shard_from_its_checkpoint_and_no_other_moves(
    make_shards: MakeShards, tmp_path: Path
) -> None:
    shards = make_shards(checkpoint_dir=tmp_path)
    policy, other = shards.add_policy("a"), shards.add_policy("b")
    ray.get(policy.learn.remote(frames(3.0)))
    shards.checkpoint()
    ray.get(policy.learn.remote(frames(5.0)))
    pids = [pid_of(actor) for actor in (other, *shards.get_replay_actors())]
    old = pid_of(policy)
    kill(policy)
    assert again(policy.seen.remote) == 3.0
    assert pid_of(policy) != old
    assert shards.get_policy_actor("a") == policy
    assert [pid_of(actor) for actor in (other, *shards.get_replay_actors())] == pids


def test_a_killed_replay_actor_comes_back_with_the_frames_of_its_checkpoint(
    make_shards: MakeShards, tmp_path: Path
) -> None:
    shards = make_shards(checkpoint_dir=tmp_path, shards=1)
    policy = shards.add_policy("a")
    shards.add_policy("leaves")
    (replay,) = shards.get_replay_actors()
    ray.get([replay.extend.remote("a", frames(2.0, 8)), replay.extend.remote("leaves", frames(9.0))])
    shards.checkpoint()
    shards.remove_policy("leaves")
    ray.get(replay.extend.remote("a", frames(4.0, 8)))
    kill(replay)
    assert again(lambda: replay.size.remote("a")) == 8
    assert ray.get(replay.size.remote("leaves")) == 0
    assert ray.get(policy.learn.remote(replay.sample.remote("a", 4))) > 0


def test_a_folder_that_a_full_volume_had_no_room_for_is_made_once_there_is_some(
    make_shards: MakeShards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mkdir(path: Path, **_: Any) -> None:
        raise OSError(errno.ENOSPC, "no room", str(path))

    with monkeypatch.context() as full:
        full.setattr(Path, "mkdir", mkdir)
        shards = make_shards(checkpoint_dir=tmp_path / "learners")
        policy = shards.add_policy("a")
        ray.get(policy.learn.remote(frames(3.0)))
        with pytest.raises(OSError, match="no room"):
            shards.checkpoint()
    shards.checkpoint()
    ray.get(policy.learn.remote(frames(5.0)))
    kill(policy)
    assert again(policy.seen.remote) == 3.0


def test_without_a_folder_for_checkpoints_nothing_comes_back_as_if_nothing_were(make_shards: MakeShards) -> None:
    shards = make_shards()
    policy = shards.add_policy("a")
    kill(policy)
    # Until Ray knows of the death, the actor is unavailable.
    with pytest.raises(ActorDiedError):
        eventually(lambda: ray.get([policy.seen.remote()], timeout=60), within=60, tolerate=(ActorUnavailableError,))
    with pytest.raises(InvalidOption, match="checkpoint_dir is not set"):
        shards.checkpoint()
    shards.remove_policy("a")
    assert ray.get(shards.add_policy("a").seen.remote()) == 0.0


def test_a_checkpoint_that_one_policy_cannot_write_is_written_by_the_others(
    make_shards: MakeShards, gate: Path, tmp_path: Path
) -> None:
    shards = make_shards(checkpoint_dir=tmp_path / "kept")
    stuck = shards.add_policy("stuck")
    shards.add_policy("fine")
    ray.get([replay.size.remote("fine") for replay in shards.get_replay_actors()])  # they are built, too
    stuck.waits_for.remote(str(gate), str(tmp_path / "done"))
    with pytest.raises(InfrastructureError, match=r"^policy stuck: no answer within 2 s; it is busy or stuck$"):
        shards.checkpoint(timeout=timedelta(seconds=2))
    names = {"policy-fine-2.pt", "replay-0.pt", "replay-1.pt"}
    eventually(lambda: {path.name for path in (tmp_path / "kept").iterdir()}, until=names.__eq__, within=30)


def test_an_actor_that_is_lost_as_it_writes_is_the_cause_of_what_was_not_written(
    make_shards: MakeShards, tmp_path: Path
) -> None:
    shards = make_shards(1, TooLarge, shards=1, checkpoint_dir=tmp_path)
    shards.add_policy("a")
    with pytest.raises(InfrastructureError, match=r"^policy a: no answer within 5 s; it was lost meanwhile: \w+"):
        shards.checkpoint(timeout=timedelta(seconds=5))


def test_a_replay_actor_that_comes_back_without_frames_is_no_error_and_others_learn(
    make_shards: MakeShards, tmp_path: Path
) -> None:
    fatal = tmp_path / "fatal"
    shards = make_shards(
        2, replay_class=DiesOnce, replay_config={"fatal": str(fatal)}, checkpoint_dir=tmp_path / "kept"
    )
    for policy_id in ("a", "b"):
        shards.add_policy(policy_id)
        replay, _ = shards.get_replay_and_policy_actors(policy_id)
        ray.get(replay.extend.remote(policy_id, frames(2.0)))
    no_feed: Any = None  # which publishes, and does not learn
    run = RunLearners(shards, no_feed, None)
    assert run.learn(8) == {"learn/a": 2.0, "learn/b": 2.0}
    fatal.touch()
    found = run.learn(8)
    assert len(found) == 1
    (left,) = found
    assert run.learn(8) == found
    (lost,) = {"learn/a", "learn/b"} - {left}
    replay, _ = shards.get_replay_and_policy_actors(lost.removeprefix("learn/"))
    ray.get(replay.extend.remote(lost.removeprefix("learn/"), frames(4.0)))
    assert run.learn(8) == {left: 2.0, lost: 4.0}


def test_other_shards_go_on_where_these_were_with_their_frames_and_steps(
    make_shards: MakeShards, tmp_path: Path
) -> None:
    before = make_shards(checkpoint_dir=tmp_path / "before")
    for policy_id in ("a", "b", "leaves"):
        ray.get(before.add_policy(policy_id).learn.remote(frames(3.0)))
        replay, _ = before.get_replay_and_policy_actors(policy_id)
        ray.get(replay.extend.remote(policy_id, frames(1.0, 8)))
    before.checkpoint()
    before.stop()

    after = make_shards(checkpoint_dir=tmp_path / "after", resume_from=tmp_path / "before")
    assert after.resumes == {"a", "b", "leaves"}
    # Whatever is added first.
    policy = after.add_policy("b")
    after.add_policy("a")
    assert (after.shard_of("a"), after.shard_of("b")) == (0, 1)
    assert ray.get(policy.seen.remote()) == 3.0
    assert ray.get(policy.__ray_call__.remote(steps_of)) == 1
    first, second = after.get_replay_actors()
    sizes = [first.size.remote("a"), first.size.remote("leaves"), second.size.remote("b")]
    assert ray.get(sizes) == [8, 8, 8]
    after.checkpoint()
    assert ray.get(first.size.remote("leaves")) == 0
    # One that dies comes back from its own file, and not from the one before.
    ray.get(policy.learn.remote(frames(5.0)))
    after.checkpoint()
    kill(policy)
    assert again(policy.seen.remote) == 5.0
    assert ray.get(policy.__ray_call__.remote(steps_of)) == 2


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
    assert (tmp_path / "after" / "policy-stays-1.pt").exists()
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
    assert (tmp_path / "kept" / "replay-0.pt").exists()
    assert frames_after_a_restart(shards) == {"stays": 8, "leaves": 0}


def test_a_removal_on_a_full_volume_drops_the_frames_now_and_the_next_checkpoint_drops_them_for_good(
    resumed: LearnerShards,
) -> None:
    def fill(_: Any) -> None:
        error = OSError(errno.ENOSPC, "No space left on device")
        patch("collectorfleet.learners.dropped.write_json", side_effect=error).start()

    resumed.checkpoint()
    (replay,) = resumed.get_replay_actors()
    ray.get(replay.__ray_call__.remote(fill))
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
