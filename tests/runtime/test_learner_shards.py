"""Learner shards on a real Ray: who learns where, who comes and goes, and what is refused."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError
from ray.util import placement_group_table
from tests.runtime.conftest import MakeShards
from tests.runtime.learners import Forgetful, Heard, Mean, Meeting, frames, pid_of
from tests.wait import eventually

from collectorfleet import CollectorClosed, InfrastructureError, InvalidOption, LearnerShards, UserCodeError

pytestmark = pytest.mark.usefixtures("local_ray")


def rooms() -> set[str]:
    """Return the ids of all placement groups. Those of an earlier test may leave at any time."""
    return {name for name, group in placement_group_table().items() if group["state"] != "REMOVED"}


def test_policies_learn_from_the_frames_of_their_own_in_their_shard(make_shards: MakeShards) -> None:
    shards = make_shards()
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


def test_what_a_policy_is_given_wins_over_what_all_are(make_shards: MakeShards) -> None:
    common = {"rate": 0.5, "net": {"width": 64, "depth": 2}}
    shards = make_shards(config=common)
    own = shards.add_policy("own", {"net": {"width": 128}})
    other = shards.add_policy("other")
    assert ray.get([own.configuration.remote(), other.configuration.remote()]) == [
        {"rate": 0.5, "net": {"width": 128, "depth": 2}},
        common,
    ]


def test_a_policy_may_have_a_class_of_its_own_which_needs_the_way_back_too(
    make_shards: MakeShards, tmp_path: Path
) -> None:
    assert ray.get(make_shards().add_policy("other", policy_class=Forgetful).seen.remote()) == 1
    shards = make_shards(checkpoint_dir=tmp_path)
    with pytest.raises(InvalidOption, match=r"^policy_class: Forgetful has no state_dict\(\)"):
        shards.add_policy("other", policy_class=Forgetful)
    assert len(shards) == 0


def test_several_policies_are_built_at_the_same_time(make_shards: MakeShards, tmp_path: Path) -> None:
    shards = make_shards(policy_class=Meeting)
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    actors = shards.add_policies({"a": {"own": a, "other": b}, "b": {"own": b, "other": a}})
    assert [(policy_id, actor) for policy_id, actor, _ in shards] == list(actors.items())
    assert [shards.shard_of(policy_id) for policy_id in actors] == [0, 1]


def test_where_one_of_several_policies_cannot_be_built_none_is_added(make_shards: MakeShards) -> None:
    shards = make_shards(2)
    with pytest.raises(UserCodeError, match=r"^policy bad: ValueError: no such game"):
        shards.add_policies({"good": {}, "bad": {"no_such_game": True}})
    with pytest.raises(InvalidOption, match=r"^policy '-': not a valid id"):
        shards.add_policies({"good": {}, "-": {}})
    assert len(shards) == 0
    assert list(shards.add_policies({"good": {}, "bad": {}})) == ["good", "bad"]


def test_a_full_fleet_a_second_of_a_name_and_a_stranger_are_refused_and_change_nothing(make_shards: MakeShards) -> None:
    shards = make_shards(2)
    kept = [shards.add_policy("a"), shards.add_policy("b")]
    for ask, sentence in (
        (lambda: shards.add_policy("c"), r"^policy 'c': all 2 places are taken"),
        (lambda: shards.add_policy("a"), r"^policy 'a': it exists already"),
        (lambda: shards.get_policy_actor("c"), "^policy 'c': it does not exist; use one of a, b"),
        (lambda: shards.get_replay_and_policy_actors("c"), r"^policy 'c': it does not exist"),
        (lambda: shards.remove_policy("c"), r"^policy 'c': it does not exist"),
        (lambda: shards.get_policy_id(shards.get_replay_actors()[0]), r"none of the 2 policies has the actor "),
    ):
        with pytest.raises(InvalidOption, match=sentence):
            ask()
    assert [shards.get_policy_id(actor) for actor in kept] == ["a", "b"]
    assert ray.get([actor.seen.remote() for actor in kept]) == [0.0, 0.0]


def test_a_removed_policy_ends_its_work_and_its_place_is_the_next_ones_while_others_stay(
    make_shards: MakeShards, gate: Path, tmp_path: Path
) -> None:
    shards = make_shards()
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
    with pytest.raises(InvalidOption, match="does not exist"):
        shards.get_policy_actor("p1")
    shards.add_policy("new")
    assert shards.get_replay_and_policy_actors("new")[0] == replay
    assert {name: pid_of(actors[name]) for name in ("p0", "p2", "p3")} == {
        name: before[name] for name in ("p0", "p2", "p3")
    }


def test_a_removed_policy_that_never_comes_to_an_end_is_ended(
    make_shards: MakeShards, gate: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shards = make_shards(2)
    stuck = shards.add_policy("stuck")
    shards.add_policy("other")
    stuck.waits_for.remote(str(gate), str(tmp_path / "done"))
    shards.remove_policy("stuck", timeout=timedelta(seconds=0.5))
    assert "policy stuck was still busy after 0.5 s, and is ended" in caplog.text
    assert ray.get(shards.add_policy("next").seen.remote()) == 0.0
    assert not (tmp_path / "done").exists()


def test_a_policy_that_cannot_be_built_says_why_and_leaves_its_place(make_shards: MakeShards) -> None:
    shards = make_shards(1, shards=1)
    with pytest.raises(UserCodeError) as error:
        shards.add_policy("odd", {"no_such_game": True})
    assert str(error.value) == "policy odd: ValueError: no such game"
    assert "in __init__" in error.value.traceback
    assert len(shards) == 0
    assert ray.get(shards.add_policy("odd").seen.remote()) == 0.0


def test_a_policy_whose_configuration_cannot_be_pickled_leaves_its_place(make_shards: MakeShards) -> None:
    shards = make_shards(2, shards=1)
    lock = threading.Lock()

    class Unpicklable(Mean):
        given_lock = lock

    with pytest.raises(TypeError, match=r"[Cc]ould not serialize"):
        shards.add_policies({"first": {}, "odd": {"net": {"width": lock}}})
    with pytest.raises(TypeError, match=r"[Cc]ould not serialize"):
        shards.add_policy("odd", policy_class=Unpicklable)
    assert len(shards) == 0
    with pytest.raises(InvalidOption, match=r"^policy 'odd': it does not exist, because there are no policies"):
        shards.remove_policy("odd")
    assert [ray.get(shards.add_policy(policy_id).seen.remote()) for policy_id in ("odd", "next")] == [0.0, 0.0]


def test_a_policy_that_is_not_built_in_time_is_ended_and_leaves_its_place(
    make_shards: MakeShards, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = make_shards(1, shards=1)
    with monkeypatch.context() as patched:
        # The other actors have the default time, because a busy machine needs it.
        patched.setattr(shards, "_options", replace(shards._options, start_timeout=timedelta(seconds=1)))
        with pytest.raises(InfrastructureError, match=r"^policy slow: no answer within 1 s; it is busy or stuck$"):
            shards.add_policy("slow", {"gate": str(gate)})
    assert ray.get(shards.add_policy("next").seen.remote()) == 0.0


def test_a_replay_class_of_the_users_gets_its_keywords_and_hears_who_left(make_shards: MakeShards) -> None:
    shards = make_shards(1, shards=1, replay_class=Heard, replay_config={"prefix": "bye "})
    (replay,) = shards.get_replay_actors()
    shards.add_policy("a")
    shards.remove_policy("a")
    assert ray.get(replay.said.remote()) == ["bye a"]


def test_gpus_in_name_only_count_as_places_and_ask_for_none(make_shards: MakeShards) -> None:
    shards = make_shards(10, gpus=4, shards=None, fake_gpus=True, policy_cpus=0.01)
    assert (shards.packing.slots, shards.packing.gpu_per_policy) == ((3, 3, 2, 2), 0.3333)
    assert len(shards.get_replay_actors()) == 4


def test_what_can_never_be_placed_is_refused_before_anything_is_started(make_shards: MakeShards) -> None:
    before = rooms()
    with pytest.raises(InvalidOption, match=r"^shards: a shard of 5 policies of 0\.2 GPU requests 1 GPU and 600m CPU"):
        make_shards(10, gpus=2)
    with pytest.raises(InvalidOption, match=r"^shards: a shard of 1 policy requests 6 CPU in one pod"):
        make_shards(2, policy_cpus=5, replay_cpus=1)
    assert rooms() <= before


def test_room_that_others_have_is_waited_for_and_then_said(make_shards: MakeShards) -> None:
    make_shards(1, shards=1, policy_cpus=2, replay_cpus=1)
    before = rooms()
    with pytest.raises(InfrastructureError, match=r"^learner shards: 0 of 1 have room after 1 s"):
        make_shards(1, shards=1, policy_cpus=2, replay_cpus=1, start_timeout=timedelta(seconds=1))
    eventually(rooms, until=before.issuperset, within=30)


def test_after_the_end_nothing_is_left_and_a_second_end_is_none(make_shards: MakeShards) -> None:
    before = rooms()
    shards = make_shards()
    policy = shards.add_policy("a")
    replay, _ = shards.get_replay_actors()
    shards.stop()
    shards.stop()

    def is_dead(ask: Callable[[], ray.ObjectRef]) -> bool:
        try:
            ray.get(ask(), timeout=60)
        except ActorDiedError:
            return True
        except ActorUnavailableError:  # Ray does not know of the death yet
            return False
        return False

    # Ray kills an actor some time after it was asked to: until then it answers.
    for ask in (policy.seen.remote, partial(replay.size.remote, "a")):
        eventually(partial(is_dead, ask), within=30, what="the end of an actor")
    eventually(rooms, until=before.issuperset, within=30)
    with pytest.raises(CollectorClosed, match=r"^learner shards: used after stop\(\)$"):
        shards.add_policy("b")


def test_who_drops_them_leaves_no_actors_behind(make_shards: MakeShards) -> None:
    before = rooms()
    LearnerShards(Mean, 1, policy_cpus=0.1, replay_cpus=0.1)
    eventually(rooms, until=before.issuperset, within=30)


def test_they_do_not_travel(make_shards: MakeShards) -> None:
    with pytest.raises(TypeError, match="a copy would not know later changes"):
        pickle.dumps(make_shards(1, shards=1))


def test_shards_go_only_where_there_is_what_they_ask_for(make_shards: MakeShards) -> None:
    with pytest.raises(InvalidOption, match=r"^shards: a shard of 2 policies requests 300m CPU in one pod"):
        make_shards(resources={"nobody-has-this": 1})
