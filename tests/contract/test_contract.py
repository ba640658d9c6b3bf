"""What every transport has to do; ``collectorfleet.transport.interface`` says it in words."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from tests import envs
from tests.contract.harness import FRAMES, PLAIN, Harness, batch_of, make_gated, values_of
from tests.wait import eventually

from collectorfleet.codec.frames import MASK_KEY
from collectorfleet.messages import POLICY, Answer, Applied, CollectorId, Fault, Lost, Raised, Started

C0 = CollectorId("c0", 1)
AGAIN = CollectorId("c0", 2)


def misbehaving(how: str, at: int = 5) -> partial[envs.Counting]:
    return partial(envs.make_counting, misbehaves=how, at=at)


def waits_at(gate: Path) -> None:
    """Block until the rollout has come to the gate."""
    eventually((gate.parent / "waits").exists, within=60, what="a rollout at the gate")


# -------------------------------------------------------------------------------------------- start
def test_a_collector_that_is_built_says_where_it_is(harness: Harness) -> None:
    started = harness.start()
    assert started.collector == C0
    assert started.pid > 0
    assert started.pod


def test_an_environment_that_cannot_be_built_is_the_users_error_in_its_own_words(harness: Harness) -> None:
    harness.config = replace(PLAIN, create_env=misbehaving("raise when built"))
    harness.transport.start(C0)
    raised = harness.hear(Raised)
    assert (raised.collector, raised.cause) == (C0, "ValueError: no such game")
    assert raised.where.startswith("environment")
    assert "no such game" in raised.traceback


def test_collectors_are_told_apart(harness: Harness) -> None:
    for name in ("c0", "c1"):
        harness.transport.start(CollectorId(name, 1))
    assert {harness.hear(Started).collector.name for _ in range(2)} == {"c0", "c1"}


# -------------------------------------------------------------------------------------------- requests and answers
def test_a_request_is_answered_with_its_frames(harness: Harness) -> None:
    harness.start()
    request = harness.ask(C0)
    answer = harness.hear(Answer)
    assert (answer.collector, answer.request_id, answer.frames, answer.version) == (C0, request.id, FRAMES, 0)
    assert answer.policy == POLICY
    assert answer.seconds > 0
    assert answer.size_bytes > 0
    assert answer.pickled == 0
    assert batch_of(answer).shape == torch.Size([FRAMES])
    assert values_of(answer) == {0.0}


def test_requests_are_worked_off_in_their_order(harness: Harness) -> None:
    harness.start()
    asked = [harness.ask(C0).id for _ in range(4)]
    assert [harness.hear(Answer).request_id for _ in asked] == asked


def test_a_request_may_ask_for_another_number_of_frames(harness: Harness) -> None:
    harness.start()
    harness.ask(C0, frames=30)
    assert batch_of(harness.hear(Answer)).shape == torch.Size([30])


def test_a_request_may_ask_for_random_actions(harness: Harness) -> None:
    harness.start()
    harness.ask(C0, random=True)
    harness.ask(C0)
    assert len(values_of(harness.hear(Answer))) > 1
    assert values_of(harness.hear(Answer)) == {0.0}


def test_incarnations_of_one_slot_number_their_trajectories_apart(harness: Harness) -> None:
    harness.start()
    harness.ask(C0)
    first = harness.hear(Answer).payload.incarnation
    harness.transport.stop(C0)
    harness.start(incarnation=2)
    harness.ask(AGAIN)
    assert (first, harness.hear(Answer).payload.incarnation) == (1, 2)


def test_what_no_array_can_carry_travels_and_is_counted(harness: Harness) -> None:
    harness.config = replace(PLAIN, options={"post_collect_hook": envs.mark_with_words})
    harness.start()
    harness.ask(C0)
    answer = harness.hear(Answer)
    assert answer.pickled == 1
    assert batch_of(answer)["words"] == "not a number"


# -------------------------------------------------------------------------------------------- cut short
def test_a_running_rollout_is_cut_short(harness: Harness, gate: Path) -> None:
    harness.config = replace(PLAIN, create_env=partial(make_gated, str(gate)), cut_short=True)
    harness.start()
    request = harness.ask(C0)
    waits_at(gate)
    harness.transport.cut_short(C0, request.id)
    harness.backdoor.settle(C0)
    gate.touch()
    answer = harness.hear(Answer)
    assert answer.request_id == request.id
    assert 0 < answer.frames < FRAMES
    assert batch_of(answer).shape == torch.Size([FRAMES])
    assert int(batch_of(answer)[MASK_KEY].sum()) == answer.frames


def test_a_rollout_that_was_cut_short_before_it_began_is_short_and_the_next_one_is_not(
    harness: Harness, gate: Path
) -> None:
    harness.config = replace(PLAIN, create_env=partial(make_gated, str(gate)), cut_short=True)
    harness.start()
    requests = [harness.ask(C0) for _ in range(3)]
    waits_at(gate)
    harness.transport.cut_short(C0, requests[1].id)
    harness.backdoor.settle(C0)
    gate.touch()
    frames = [harness.hear(Answer).frames for _ in requests]
    assert (frames[0], frames[2]) == (FRAMES, FRAMES)
    assert 0 < frames[1] < FRAMES


# -------------------------------------------------------------------------------------------- weights
def test_an_idle_collector_applies_an_offer_at_once_and_proves_it(harness: Harness) -> None:
    harness.start()
    weights = harness.store(1, 2.0)
    applied = harness.offer(C0, weights)
    assert applied == Applied(C0, 1, weights.stored.digest, POLICY)
    harness.ask(C0, min_version=1)
    answer = harness.hear(Answer)
    assert (answer.version, values_of(answer)) == (1, {2.0})


def test_an_offer_waits_for_no_rollout_and_the_newest_replaces_the_others(harness: Harness, gate: Path) -> None:
    harness.config = replace(PLAIN, create_env=partial(make_gated, str(gate)))
    harness.start()
    harness.ask(C0)
    waits_at(gate)
    for version in (1, 2, 3):
        harness.transport.offer(C0, harness.store(version, float(version)))
    harness.backdoor.settle(C0)
    gate.touch()
    assert harness.hear(Answer).version == 0
    assert harness.hear(Applied).version == 3
    harness.ask(C0, min_version=3)
    assert values_of(harness.hear(Answer)) == {3.0}


def test_weights_come_along_with_a_request(harness: Harness) -> None:
    harness.start()
    harness.ask(C0, min_version=1, weights=harness.store(1, 4.0))
    answer = harness.hear(Answer)
    assert (answer.version, values_of(answer)) == (1, {4.0})
    assert harness.hear(Applied).version == 1


def test_an_older_version_that_comes_along_replaces_no_newer_one(harness: Harness) -> None:
    harness.start()
    older = harness.store(1, 1.0)
    harness.offer(C0, harness.store(2, 2.0))
    harness.ask(C0, min_version=1, weights=older)
    assert harness.hear(Answer).version == 2


def test_exactly_a_version_is_run_with_whatever_is_newer(harness: Harness) -> None:
    harness.start()
    older, newer = harness.store(1, 1.0), harness.store(2, 2.0)
    harness.offer(C0, newer)
    harness.ask(C0, min_version=1, version=1, weights=older)
    answer = harness.hear(Answer)
    assert (answer.version, values_of(answer)) == (1, {1.0})


def test_what_was_stored_stays_what_it_was_when_the_policy_is_trained_on(harness: Harness) -> None:
    harness.start()
    policy = envs.make_policy(1.0)
    weights = harness.store(1, policy)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.fill_(7.0)
    assert harness.offer(C0, weights).digest == weights.stored.digest
    harness.ask(C0, min_version=1)
    assert values_of(harness.hear(Answer)) == {1.0}


def test_every_collector_has_a_policy_of_its_own(harness: Harness) -> None:
    harness.start("c0")
    harness.start("c1")
    harness.offer(C0, harness.store(1, 1.0))
    harness.ask(CollectorId("c1", 1))
    assert values_of(harness.hear(Answer)) == {0.0}


def test_weights_of_another_policy_are_refused_by_name(harness: Harness) -> None:
    harness.start()
    harness.transport.offer(C0, harness.store(1, envs.make_wide_policy()))
    raised = harness.hear(Raised)
    assert (raised.collector, raised.where) == (C0, "policy")
    assert "no tensor" in raised.cause


# -------------------------------------------------------------------------------------------- faults
def test_an_error_of_the_environment_says_whose_it_is(harness: Harness) -> None:
    harness.config = replace(PLAIN, create_env=misbehaving("raise"))
    harness.start()
    harness.ask(C0)
    raised = harness.hear(Raised)
    assert raised.where.startswith("environment")
    assert raised.cause == "ValueError: the game is broken"


def test_an_error_of_the_policy_says_whose_it_is(harness: Harness) -> None:
    harness.use_policy(envs.make_broken_policy())
    harness.transport.start(C0)  # TorchRL tries the policy while it builds the collector
    raised = harness.hear(Raised)
    assert (raised.where, raised.cause) == ("policy", "ZeroDivisionError: the policy is broken")


def test_a_collector_without_memory_is_lost_and_not_the_users_error(harness: Harness) -> None:
    harness.config = replace(PLAIN, create_env=misbehaving("run out of memory"))
    harness.start()
    harness.ask(C0)
    lost = harness.hear(Lost)
    assert (lost.collector, lost.fault, lost.request_id) == (C0, Fault.OUT_OF_MEMORY, None)


def test_the_death_of_an_idle_collector_is_noticed_without_asking(harness: Harness) -> None:
    started = harness.start()
    harness.backdoor.kill(started)
    lost = harness.hear(Lost)
    assert (lost.collector, lost.fault, lost.request_id) == (C0, Fault.DIED, None)


def test_the_death_of_one_that_works_is_noticed_and_another_takes_its_slot(harness: Harness, gate: Path) -> None:
    harness.config = replace(PLAIN, create_env=partial(make_gated, str(gate)))
    started = harness.start()
    harness.ask(C0)
    waits_at(gate)
    harness.backdoor.kill(started)
    assert harness.hear(Lost).request_id is None
    harness.transport.stop(C0)
    gate.touch()
    harness.start(incarnation=2)
    harness.ask(AGAIN)
    assert harness.hear(Answer).collector == AGAIN


def test_an_answer_that_is_lost_costs_that_request_alone(harness: Harness) -> None:
    harness.start()
    request = harness.ask(C0)
    harness.backdoor.lose(request.id)
    lost = harness.hear(Lost)
    assert (lost.collector, lost.request_id) == (C0, request.id)
    again = harness.ask(C0)
    assert harness.hear(Answer).request_id == again.id


# -------------------------------------------------------------------------------------------- the end
def test_nothing_is_heard_of_a_collector_that_was_stopped(harness: Harness, gate: Path) -> None:
    harness.config = replace(PLAIN, create_env=partial(make_gated, str(gate)))
    harness.start()
    harness.ask(C0)
    waits_at(gate)
    harness.transport.stop(C0)  # returns although the rollout runs
    gate.touch()
    harness.start("c1")
    harness.ask(CollectorId("c1", 1))
    assert harness.hear(Answer).collector.name == "c1"
    assert not [message for message in harness.heard if message.collector == C0]


def test_stopping_what_is_not_there_does_nothing(harness: Harness) -> None:
    harness.transport.stop(C0)


def test_waiting_ends_with_its_time_or_when_somebody_wakes_it(harness: Harness) -> None:
    assert harness.transport.wait(0.01) == []
    harness.transport.wake()
    started = time.monotonic()
    assert harness.transport.wait(60) == []
    assert time.monotonic() - started < 30  # it did not wait for its time


def test_closing_ends_all(harness: Harness) -> None:
    harness.start("c0")
    harness.start("c1")
    harness.ask(C0)
    harness.transport.close()
    assert harness.transport.wait(0.2) == []
