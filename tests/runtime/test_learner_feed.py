"""A fleet whose policies learn in shards, on a real Ray: who gets which frames, whose weights come back, what dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import ray
import torch
from tests import envs
from tests.runtime.batches import Make
from tests.runtime.learners import Mean, Stepping, even_and_odd, frames, pid_of, to_a_stranger
from tests.wait import eventually
from torch import nn

from collectorfleet import (
    Evaluation,
    FleetCollector,
    InfrastructureError,
    InvalidOption,
    LearnerFeed,
    LearnerShards,
    UserCodeError,
)
from collectorfleet.learners.replay import PolicyReplay
from collectorfleet.learners.versions import PolicyStatus, Staleness

pytestmark = pytest.mark.usefixtures("local_ray")


@dataclass
class Training:
    """A fleet of two collectors, and the policies ``acting`` and ``other`` in a shard each."""

    shards: LearnerShards
    feed: LearnerFeed
    collector: FleetCollector

    def learn(self, policy_id: str) -> float:
        replay, learner = self.shards.get_replay_and_policy_actors(policy_id)
        found: float = ray.get(learner.learn.remote(replay.sample.remote(policy_id, 8)), timeout=60)
        return found

    def stored(self, policy_id: str) -> Any:
        """All frames of a policy, in the order in which they came."""
        replay, _ = self.shards.get_replay_and_policy_actors(policy_id)
        return ray.get(replay.__ray_call__.remote(lambda it: it._buffers[policy_id][:]), timeout=60)


MakeShards = Callable[..., LearnerShards]
MakeTraining = Callable[..., Training]


@pytest.fixture
def make_shards() -> Iterator[MakeShards]:
    made: list[LearnerShards] = []

    def one(policy_class: type = Stepping, **options: Any) -> LearnerShards:
        made.append(LearnerShards(policy_class, 2, policy_cpus=0.1, replay_cpus=0.1, **options))
        made[-1].add_policy("acting")
        made[-1].add_policy("other")
        return made[-1]

    yield one
    for shards in made:
        shards.stop()


@pytest.fixture
def begin(make_shards: MakeShards, make: Make) -> MakeTraining:
    def one(
        split: Any = even_and_odd,
        timeout: timedelta = timedelta(seconds=60),
        evaluation: Evaluation | None = None,
        **options: Any,
    ) -> Training:
        shards = make_shards(**options)
        policy = envs.make_two_part_policy(0.0, 0.0)
        feed = LearnerFeed(shards, parts(policy), split, timeout=timeout)
        collecting = {"replay_buffer": feed.replay_buffer, "max_staleness": 2, "evaluation": evaluation}
        return Training(shards, feed, make(policy=policy, **collecting))

    return one


def parts(policy: Any) -> dict[str, nn.Module]:
    return {"acting": policy.module.acting, "other": policy.module.other}


def kill(actor: Any) -> None:
    os.kill(pid_of(actor), signal.SIGKILL)


def test_frames_are_stored_where_their_policy_learns_and_never_come_to_the_driver(begin: MakeTraining) -> None:
    training = begin()
    batches = iter(training.collector)
    assert [next(batches) for _ in range(4)] == [None] * 4
    even, odd = training.stored("acting"), training.stored("other")
    assert {int(seen) % 2 for seen in even["observation"][:, 0]} == {0}
    assert {int(seen) % 2 for seen in odd["observation"][:, 0]} == {1}
    assert len(even) + len(odd) >= 80
    assert set(training.stored("acting")["collector", "weights_version"].tolist()) == {1}


def test_versions_with_weights_of_learners_are_evaluated(begin: MakeTraining) -> None:
    training = begin(evaluation=Evaluation(every_versions=1, episodes=1))
    next(iter(training.collector))
    training.learn("acting")
    assert training.feed.publish(training.collector) == ["acting"]
    assert training.collector.finish_evaluation()
    means = {one.version: one.mean for one in training.collector.evaluations()}
    assert means.pop(1, 0.0) == 0.0  # skipped if version 2 was published before an evaluator was ready
    # Each of the 10 steps has the reward 2, because the action of both parts is the sum of both policies.
    assert means == {2: 20.0}


def test_only_what_was_learned_is_published_and_counts_for_its_policy_alone(begin: MakeTraining) -> None:
    training = begin()
    feed, collector = training.feed, training.collector
    batches = iter(collector)
    next(batches)
    first = feed.status(collector)
    assert {(it.published, it.acknowledged) for it in first.values()} == {(1, 1)}
    assert [it.staleness for it in first.values()] == [Staleness(0, 0.0, 0)] * 2
    assert training.learn("acting") == 1.0
    assert feed.publish(collector) == ["acting"]
    assert feed.publish(collector) == []

    def status() -> dict[str, PolicyStatus]:
        next(batches)
        return feed.status(collector)

    found = eventually(status, until=lambda it: it["acting"].acknowledged == 2, within=60, every=0)
    assert (found["acting"].published, found["acting"].publish_lag) == (2, 0)
    assert (found["other"].published, found["other"].acknowledged) == (1, 1)
    # Of what is in its buffer the frames from before are one version of it behind; the other's never are.
    assert found["acting"].staleness is not None
    assert found["acting"].staleness.max == 1
    assert found["other"].staleness == Staleness(0, 0.0, 0)

    def newest_stored() -> int:
        next(batches)
        return int(training.stored("other")["collector", "weights_version"].max())

    newest = eventually(newest_stored, until=lambda version: version == 2, within=60, every=0)
    stored = training.stored("other")
    assert (feed.version_of("acting", newest), feed.version_of("other", newest)) == (2, 1)
    # Both parts of an action are the sum of both policies.
    assert {reward for (reward,) in stored["next", "reward"].tolist()} == {0.0, 2.0}


def test_a_killed_replay_actor_comes_back_with_its_checkpoint_and_collection_goes_on(
    begin: MakeTraining, tmp_path: Path
) -> None:
    training = begin(checkpoint_dir=tmp_path)
    batches = iter(training.collector)
    next(batches)
    training.shards.checkpoint()
    replay, _ = training.shards.get_replay_and_policy_actors("acting")
    other = training.stored("other")
    kill(replay)
    list(islice(batches, 4))
    checkpoint = PolicyReplay()
    checkpoint.load_state_dict(torch.load(tmp_path / "replay-0.pt", weights_only=False)["state"])
    kept, found = checkpoint._buffers["acting"][:], training.stored("acting")
    assert len(found) > len(kept) > 0
    assert (found[: len(kept)] == kept).all()
    # Who did not die has all that it had, and more.
    assert (training.stored("other")[: len(other)] == other).all()
    assert len(training.stored("other")) > len(other)
    assert training.learn("acting") == 1.0
    assert [row.restarts for row in training.collector.status().collectors] == [0, 0]


def test_a_killed_learner_comes_back_from_its_checkpoint_and_that_is_what_is_published(
    begin: MakeTraining, tmp_path: Path
) -> None:
    training = begin(checkpoint_dir=tmp_path)
    feed, collector = training.feed, training.collector
    batches = iter(collector)
    next(batches)
    training.learn("acting")
    training.shards.checkpoint()
    training.learn("acting")
    assert feed.publish(collector) == ["acting"]
    kill(training.shards.get_policy_actor("acting"))
    next(batches)
    assert feed.publish(collector) == ["acting"]
    assert collector.policy.module.acting.value.item() == 1.0


def test_a_replay_actor_that_nothing_replaces_ends_the_run_and_is_no_collectors_fault(begin: MakeTraining) -> None:
    training = begin()
    batches = iter(training.collector)
    next(batches)
    kill(training.shards.get_replay_actors()[0])
    with pytest.raises(
        InfrastructureError, match=r"^replay buffer: its actor and its content were lost.*replay actor of policy acting"
    ):
        list(islice(batches, 20))


def test_frames_for_a_policy_that_is_not_fed_say_so(begin: MakeTraining) -> None:
    training = begin(to_a_stranger)
    with pytest.raises(UserCodeError, match="split: unknown policy stranger; return frames of acting, other only"):
        next(iter(training.collector))


def test_what_cannot_be_fed_is_refused_before_a_collector_exists(make_shards: MakeShards) -> None:
    policy = envs.make_two_part_policy(0.0, 0.0)
    shards = make_shards()
    for asked, sentence in (
        ({}, r"^policies: the list is empty"),
        ({"acting": policy, "third": policy}, r"^policy 'third': it does not exist"),
        ({"acting": policy}, r"^policy acting: the learner's weights do not fit the policy's module: "),
    ):
        with pytest.raises(InvalidOption, match=sentence):
            LearnerFeed(shards, asked, even_and_odd)
    with pytest.raises(InvalidOption, match=r"^policy acting: the class of its learner has no weights\(\); add this"):
        LearnerFeed(make_shards(Mean), parts(policy), even_and_odd)


def test_a_feed_belongs_to_one_fleet(begin: MakeTraining) -> None:
    one, other = begin(), begin()
    one.feed.publish(one.collector)
    with pytest.raises(InvalidOption, match="this feed belongs to another FleetCollector"):
        one.feed.publish(other.collector)
    with pytest.raises(
        InvalidOption, match=r"^policy 'third': the feed has no policy with this id; use one of acting, other$"
    ):
        one.feed.version_of("third", 1)


def test_a_policy_that_frames_are_sent_to_is_not_removed_before_the_feed_has_ended(begin: MakeTraining) -> None:
    training = begin()
    with pytest.raises(
        InvalidOption, match=r"^policy 'acting': the collectors of a LearnerFeed send frames to this policy; first shut"
    ):
        training.shards.remove_policy("acting")
    training.collector.shutdown(timeout=20)
    training.feed.end()
    training.feed.end()
    training.shards.remove_policy("acting")
    assert [policy_id for policy_id, _, _ in training.shards] == ["other"]


def test_a_policy_that_has_nothing_to_publish_says_so(make: Make) -> None:
    collector = make(policy_factory=envs.make_policy)
    with pytest.raises(InvalidOption, match=r"^publish: this policy has no tensors to publish"):
        collector.publish()


def test_what_was_written_is_stored_when_the_write_returns(make_shards: MakeShards) -> None:
    shards = make_shards(shards=1)
    feed = LearnerFeed(shards, parts(envs.make_two_part_policy(0.0, 0.0)), lambda all_: {"other": all_})
    feed.replay_buffer.extend(frames(2.0, 8))
    (replay,) = shards.get_replay_actors()
    assert ray.get([replay.size.remote("acting"), replay.size.remote("other")]) == [0, 8]
