"""Learner shards on a real Ray: who learns where, who comes and goes, and who comes back."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError
from ray.util import placement_group_table
from tests.runtime.learners import DiesOnce, Forgetful, Heard, Mean, TooLarge, frames, pid_of
from tests.wait import eventually

from collectorfleet import CollectorClosed, InfrastructureError, InvalidOption, LearnerShards, UserCodeError
from collectorfleet.learners.returning import steps_of
from collectorfleet.run.learners.run_learners import RunLearners

pytestmark = pytest.mark.usefixtures("local_ray")

Make = Callable[..., LearnerShards]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes shards that ask for little and end with the test."""
    made: list[LearnerShards] = []

    def one(max_policies: int = 4, policy_class: type = Mean, **options: Any) -> LearnerShards:
        options = {"policy_cpus": 0.1, "replay_cpus": 0.1, "shards": 2} | options
        made.append(LearnerShards(policy_class, max_policies, **options))
        return made[-1]

    yield one
    for shards in made:
        shards.stop()


def kill(actor: Any) -> None:
    os.kill(pid_of(actor), signal.SIGKILL)


def again(ask: Callable[[], Any]) -> Any:
    """What an actor answers that is being built anew."""
    found = eventually(
        lambda: [ray.get(ask(), timeout=60)], within=60, tolerate=(ActorUnavailableError, ActorDiedError)
    )
    return found[0]


def rooms() -> int:
    return sum(group["state"] != "REMOVED" for group in placement_group_table().values())


def test_policies_learn_from_the_frames_of_their_own_in_their_shard(make: Make) -> None:
    shards = make()
    for index in range(4):
        shards.add_policy(f"p{index}")
    assert len(shards) == 4
    for index, (policy_id, policy, replay) in enumerate(shards):
        assert policy_id == f"p{index}" == shards.get_policy_id(policy)
        assert shards.get_replay_and_policy_actors(policy_id) == (replay, policy)
        assert shards.get_policy_actor(policy_id) == policy
        replay.extend.remote(policy_id, frames(float(index)))
    learned = [policy.learn.remote(replay.sample.remote(name, 4)) for name, policy, replay in shards]
    assert ray.get(learned) == [0.0, 1.0, 2.0, 3.0]
    first, second = shards.get_replay_actors()
    assert [replay for _, _, replay in shards] == [first, second, first, second]


def test_what_a_policy_is_given_wins_over_what_all_are(make: Make) -> None:
    common = {"rate": 0.5, "net": {"width": 64, "depth": 2}}
    shards = make(config=common)
    own = shards.add_policy("own", {"net": {"width": 128}})
    other = shards.add_policy("other")
    assert ray.get([own.configuration.remote(), other.configuration.remote()]) == [
        {"rate": 0.5, "net": {"width": 128, "depth": 2}},
        common,
    ]


def test_a_policy_may_have_a_class_of_its_own_which_needs_the_way_back_too(make: Make, tmp_path: Path) -> None:
    assert ray.get(make().add_policy("other", policy_class=Forgetful).seen.remote()) == 1
    shards = make(checkpoint_dir=tmp_path)
    with pytest.raises(InvalidOption, match=r"^policy_class: Forgetful has no state_dict\(\)"):
        shards.add_policy("other", policy_class=Forgetful)
    assert len(shards) == 0


def test_a_full_fleet_a_second_of_a_name_and_a_stranger_are_refused_and_change_nothing(make: Make) -> None:
    shards = make(2)
    kept = [shards.add_policy("a"), shards.add_policy("b")]
    for ask, sentence in (
        (lambda: shards.add_policy("c"), r"^policy 'c': all 2 places are taken"),
        (lambda: shards.add_policy("a"), r"^policy 'a': is there already"),
        (lambda: shards.get_policy_actor("c"), r"^policy 'c': is not there; there are a, b"),
        (lambda: shards.get_replay_and_policy_actors("c"), r"^policy 'c': is not there"),
        (lambda: shards.remove_policy("c"), r"^policy 'c': is not there"),
        (lambda: shards.get_policy_id(shards.get_replay_actors()[0]), r"is none of the 2 policies$"),
    ):
        with pytest.raises(InvalidOption, match=sentence):
            ask()
    assert [shards.get_policy_id(actor) for actor in kept] == ["a", "b"]
    assert ray.get([actor.seen.remote() for actor in kept]) == [0.0, 0.0]


def test_a_removed_policy_ends_its_work_and_its_place_is_the_next_ones_while_others_stay(
    make: Make, gate: Path, tmp_path: Path
) -> None:
    shards = make()
    actors = {f"p{index}": shards.add_policy(f"p{index}") for index in range(4)}
    before = {name: pid_of(actor) for name, actor in actors.items()}
    replay, leaves = shards.get_replay_and_policy_actors("p1")
    ray.get(replay.extend.remote("p1", frames(1.0)))
    done = tmp_path / "done"
    leaves.waits_for.remote(str(gate), str(done))
    with ThreadPoolExecutor(1) as beside:
        removed = beside.submit(shards.remove_policy, "p1")
        assert not done.exists()
        gate.touch()
        removed.result(60)
    assert done.exists()
    assert ray.get(replay.size.remote("p1")) == 0
    with pytest.raises(InvalidOption, match="is not there"):
        shards.get_policy_actor("p1")
    shards.add_policy("new")
    assert shards.get_replay_and_policy_actors("new")[0] == replay
    assert {name: pid_of(actors[name]) for name in ("p0", "p2", "p3")} == {
        name: before[name] for name in ("p0", "p2", "p3")
    }


def test_a_removed_policy_that_never_comes_to_an_end_is_ended(
    make: Make, gate: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shards = make(2)
    stuck = shards.add_policy("stuck")
    shards.add_policy("other")
    stuck.waits_for.remote(str(gate), str(tmp_path / "done"))
    shards.remove_policy("stuck", timeout=timedelta(seconds=0.5))
    assert "policy stuck was still busy after 0.5 s, and is ended" in caplog.text
    assert ray.get(shards.add_policy("next").seen.remote()) == 0.0
    assert not (tmp_path / "done").exists()


def test_a_policy_that_cannot_be_built_says_why_and_leaves_its_place(make: Make) -> None:
    shards = make(1, shards=1)
    with pytest.raises(UserCodeError) as error:
        shards.add_policy("odd", {"no_such_game": True})
    assert str(error.value) == "policy odd: ValueError: no such game"
    assert "in __init__" in error.value.traceback
    assert len(shards) == 0
    assert ray.get(shards.add_policy("odd").seen.remote()) == 0.0


def test_a_policy_that_is_not_built_in_time_is_ended_and_leaves_its_place(make: Make, gate: Path) -> None:
    shards = make(1, shards=1, start_timeout=timedelta(seconds=10))
    with pytest.raises(InfrastructureError, match=r"^policy slow: no answer within 10 s; it is busy or stuck$"):
        shards.add_policy("slow", {"gate": str(gate)})
    assert ray.get(shards.add_policy("next").seen.remote()) == 0.0


def test_a_replay_class_of_the_users_gets_its_keywords_and_hears_who_left(make: Make) -> None:
    shards = make(1, shards=1, replay_class=Heard, replay_config={"prefix": "bye "})
    (replay,) = shards.get_replay_actors()
    shards.add_policy("a")
    shards.remove_policy("a")
    assert ray.get(replay.said.remote()) == ["bye a"]


def test_a_policy_that_comes_again_begins_anew(make: Make, tmp_path: Path) -> None:
    shards = make(checkpoint_dir=tmp_path)
    ray.get(shards.add_policy("a").learn.remote(frames(3.0)))
    shards.checkpoint()
    shards.remove_policy("a")
    assert ray.get(shards.add_policy("a").seen.remote()) == 0.0


def test_a_killed_policy_comes_back_in_its_shard_from_its_checkpoint_and_no_other_moves(
    make: Make, tmp_path: Path
) -> None:
    shards = make(checkpoint_dir=tmp_path)
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


def test_a_killed_replay_actor_comes_back_with_the_frames_of_its_checkpoint(make: Make, tmp_path: Path) -> None:
    shards = make(checkpoint_dir=tmp_path, shards=1)
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


def test_without_a_folder_for_checkpoints_nothing_comes_back_as_if_nothing_were(make: Make) -> None:
    shards = make()
    policy = shards.add_policy("a")
    kill(policy)
    with pytest.raises(ActorDiedError):
        ray.get(policy.seen.remote(), timeout=60)
    with pytest.raises(InvalidOption, match="there is no checkpoint_dir"):
        shards.checkpoint()
    shards.remove_policy("a")
    assert ray.get(shards.add_policy("a").seen.remote()) == 0.0


def test_a_checkpoint_that_one_policy_cannot_write_is_written_by_the_others(
    make: Make, gate: Path, tmp_path: Path
) -> None:
    shards = make(checkpoint_dir=tmp_path / "kept")
    stuck = shards.add_policy("stuck")
    shards.add_policy("fine")
    stuck.waits_for.remote(str(gate), str(tmp_path / "done"))
    with pytest.raises(InfrastructureError, match=r"^policy stuck: no answer within 2 s; it is busy or stuck$"):
        shards.checkpoint(timeout=timedelta(seconds=2))
    names = {"policy-fine-2.pt", "replay-0.pt", "replay-1.pt"}
    eventually(lambda: {path.name for path in (tmp_path / "kept").iterdir()}, until=names.__eq__, within=30)


def test_an_actor_that_is_lost_as_it_writes_is_the_cause_of_what_was_not_written(make: Make, tmp_path: Path) -> None:
    shards = make(1, TooLarge, shards=1, checkpoint_dir=tmp_path)
    shards.add_policy("a")
    with pytest.raises(InfrastructureError, match=r"^policy a: no answer within 5 s; it was lost meanwhile: \w+"):
        shards.checkpoint(timeout=timedelta(seconds=5))


def test_a_replay_actor_that_comes_back_without_frames_is_no_error_and_others_learn(make: Make, tmp_path: Path) -> None:
    fatal = tmp_path / "fatal"
    shards = make(2, replay_class=DiesOnce, replay_config={"fatal": str(fatal)}, checkpoint_dir=tmp_path / "kept")
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


def test_gpus_in_name_only_count_as_places_and_ask_for_none(make: Make) -> None:
    shards = make(10, gpus=4, shards=None, fake_gpus=True, policy_cpus=0.01)
    assert (shards.packing.slots, shards.packing.gpu_per_policy) == ((3, 3, 2, 2), 0.3333)
    assert len(shards.get_replay_actors()) == 4


def test_what_can_never_be_placed_is_refused_before_anything_is_started(make: Make) -> None:
    before = rooms()
    with pytest.raises(InvalidOption, match=r"^shards: a shard of 5 policies of 0\.2 GPU asks for 1 GPU and 600m CPU"):
        make(10, gpus=2)
    with pytest.raises(InvalidOption, match=r"^shards: a shard of 1 policy asks for 6 CPU in one pod"):
        make(2, policy_cpus=5, replay_cpus=1)
    assert rooms() == before


def test_room_that_others_have_is_waited_for_and_then_said(make: Make) -> None:
    make(1, shards=1, policy_cpus=2, replay_cpus=1)
    before = rooms()
    with pytest.raises(InfrastructureError, match=r"^learner shards: 0 of 1 have room after 1 s"):
        make(1, shards=1, policy_cpus=2, replay_cpus=1, start_timeout=timedelta(seconds=1))
    eventually(rooms, until=lambda number: number == before, within=30)


def test_after_the_end_nothing_is_left_and_a_second_end_is_none(make: Make) -> None:
    before = rooms()
    shards = make()
    policy = shards.add_policy("a")
    replay, _ = shards.get_replay_actors()
    shards.stop()
    shards.stop()
    for ask in (policy.seen.remote, partial(replay.size.remote, "a")):
        with pytest.raises(ActorDiedError):
            ray.get(ask(), timeout=60)
    eventually(rooms, until=lambda number: number == before, within=30)
    with pytest.raises(CollectorClosed, match=r"^learner shards: used after stop\(\)$"):
        shards.add_policy("b")


def test_who_drops_them_leaves_no_actors_behind(make: Make) -> None:
    before = rooms()
    LearnerShards(Mean, 1, policy_cpus=0.1, replay_cpus=0.1)
    eventually(rooms, until=lambda number: number == before, within=30)


def test_they_do_not_travel(make: Make) -> None:
    with pytest.raises(TypeError, match="a copy would not know what is added later"):
        pickle.dumps(make(1, shards=1))


def test_other_shards_go_on_where_these_were_with_their_frames_and_steps(make: Make, tmp_path: Path) -> None:
    before = make(checkpoint_dir=tmp_path / "before")
    for policy_id in ("a", "b", "leaves"):
        ray.get(before.add_policy(policy_id).learn.remote(frames(3.0)))
        replay, _ = before.get_replay_and_policy_actors(policy_id)
        ray.get(replay.extend.remote(policy_id, frames(1.0, 8)))
    before.checkpoint()
    before.stop()

    after = make(checkpoint_dir=tmp_path / "after", resume_from=tmp_path / "before")
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


def test_shards_go_only_where_there_is_what_they_ask_for(make: Make) -> None:
    with pytest.raises(InvalidOption, match=r"^shards: a shard of 2 policies asks for 300m CPU in one pod"):
        make(resources={"nobody-has-this": 1})
