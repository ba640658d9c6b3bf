"""Learner shards on a real Ray: what is killed, or ends, and comes back from its checkpoint."""

from __future__ import annotations

import errno
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError
from tests.runtime.conftest import MakeShards
from tests.runtime.learners import DiesOnce, FailsOnce, NotWritten, TooLarge, again, frames, kill, pid_of
from tests.wait import eventually

from collectorfleet import InfrastructureError, InvalidOption, UserCodeError
from collectorfleet.learners.returning import steps_of
from collectorfleet.run.spec_learners.run_learners import RunLearners

pytestmark = pytest.mark.usefixtures("local_ray")


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


def test_a_checkpoint_that_one_policy_cannot_write_is_written_by_nobody(
    make_shards: MakeShards, gate: Path, tmp_path: Path
) -> None:
    shards = make_shards(checkpoint_dir=tmp_path / "kept")
    stuck = shards.add_policy("stuck")
    shards.add_policy("fine")
    ray.get([replay.size.remote("fine") for replay in shards.get_replay_actors()])  # they are built, too
    stuck.waits_for.remote(str(gate), str(tmp_path / "done"))
    with pytest.raises(InfrastructureError, match=r"^policy stuck: no answer within 2 s; it is busy or stuck$"):
        shards.checkpoint(timeout=timedelta(seconds=2))
    assert list((tmp_path / "kept").iterdir()) == []
    # The call of the busy policy writes its file later, and the next checkpoint removes it.
    gate.touch()
    eventually(
        lambda: [path.name for path in (tmp_path / "kept").iterdir()], until=["policy-stuck-1.pt"].__eq__, within=30
    )
    shards.checkpoint()
    names = {"policy-fine-2.pt", "policy-stuck-2.pt", "replay-0-2.pt", "replay-1-2.pt"}
    links = {"replay-0.pt", "replay-1.pt"}
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"shards.json", *names, *links}


@pytest.mark.parametrize("actor", ["a policy", "a replay actor"])
def test_after_a_checkpoint_that_fails_partway_all_actors_resume_the_one_before(
    make_shards: MakeShards, tmp_path: Path, actor: str
) -> None:
    """If only some actors resumed the later state, a policy would miss the frames that it has learned from."""
    options: Any = {"replay_class": FailsOnce, "replay_config": {"folder": str(tmp_path)}}
    before = make_shards(
        2, NotWritten, config={"fails": str(tmp_path / "fails")}, checkpoint_dir=tmp_path / "before", **options
    )
    for policy_id in ("a", "b"):
        before.add_policy(policy_id)
    rows = [(policy, replay, policy_id) for policy_id, policy, replay in before]

    def learn(value: float) -> None:
        ray.get([policy.learn.remote(frames(value)) for policy, _, _ in rows])
        ray.get([replay.extend.remote(policy_id, frames(value, 8)) for _, replay, policy_id in rows])

    learn(3.0)
    before.checkpoint()
    learn(5.0)
    (tmp_path / ("fails" if actor == "a policy" else "write raises")).touch()
    with pytest.raises(UserCodeError, match="cannot write"):
        before.checkpoint()
    for policy, replay, policy_id in rows:
        kill(policy)
        kill(replay)
        assert again(policy.seen.remote) == 3.0
        assert again(partial(replay.size.remote, policy_id)) == 8
    before.stop()
    after = make_shards(
        2, NotWritten, config={"fails": str(tmp_path / "fails")}, resume_from=tmp_path / "before", **options
    )
    after.add_policies({"a": {}, "b": {}})
    for policy_id, policy, replay in after:
        assert ray.get([policy.seen.remote(), replay.size.remote(policy_id)]) == [3.0, 8]


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


def test_shards_with_other_places_say_that_they_begin_without_the_earlier_frames(
    make_shards: MakeShards, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = make_shards(3, checkpoint_dir=tmp_path / "before")
    ray.get(before.add_policy("a").learn.remote(frames(3.0)))
    ray.get(before.get_replay_actors()[0].extend.remote("a", frames(1.0, 8)))
    before.checkpoint()
    before.stop()

    alike = make_shards(3, resume_from=tmp_path / "before")
    assert not alike.dropped_frames
    alike.stop()
    assert not warnings_of(caplog)

    after = make_shards(4, resume_from=tmp_path / "before")
    assert ray.get(after.add_policy("a").seen.remote()) == 3.0
    assert ray.get([replay.size.remote("a") for replay in after.get_replay_actors()]) == [0, 0]
    assert after.dropped_frames
    (warning,) = warnings_of(caplog)
    assert warning == (
        f"learner shards: the replay actors begin without the frames in {tmp_path / 'before'}, because the places "
        "changed from 2+1 to 2+2; to keep frames when policies are added or removed, set maxPolicies (in Python: "
        "max_policies) beforehand, and change neither gpus nor shards"
    )


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [row.getMessage() for row in caplog.records if row.levelname == "WARNING" and "learner" in row.getMessage()]
