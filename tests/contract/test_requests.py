"""What every transport has to do with a start, a request and its answer; the interface says it in words."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from tests import hooks
from tests.contract.harness import (
    AGAIN,
    C0,
    FRAMES,
    PLAIN,
    Harness,
    batch_of,
    make_gated,
    make_late,
    misbehaving,
    values_of,
    waits_at,
)

from collectorfleet.codec.frames import MASK_KEY, TRAJECTORY_KEY
from collectorfleet.errors import UserCodeError
from collectorfleet.messages import POLICY, Answer, CollectorId, Placed, Raised, Started


def test_a_collector_that_is_built_says_where_it_is(harness: Harness) -> None:
    started = harness.start()
    assert started.collector == C0
    assert started.pid > 0
    assert started.pod


def test_one_that_has_room_says_so_while_it_builds(harness: Harness, gate: Path) -> None:
    harness.config = replace(PLAIN, create_env=partial(make_late, str(gate)))
    harness.transport.start(C0)
    placed = harness.hear(Placed)
    gate.touch()
    assert (placed.collector, placed.pod) == (C0, harness.hear(Started).pod)


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


def first_step(answer: Answer) -> tuple[int, float]:
    """Its trajectory, and how far that was."""
    batch = batch_of(answer)
    return int(batch[TRAJECTORY_KEY].flatten()[0]), float(batch["next", "observation"].flatten()[0])


def test_requests_are_worked_off_in_their_order(harness: Harness) -> None:
    harness.start()
    answers = harness.hear_answers([harness.ask(C0) for _ in range(4)])
    steps = [first_step(answer) for answer in answers]
    assert steps == sorted(set(steps))


def test_a_request_may_ask_for_another_number_of_frames(harness: Harness) -> None:
    harness.start()
    harness.ask(C0, frames=30)
    assert batch_of(harness.hear(Answer)).shape == torch.Size([30])


def test_a_request_may_ask_for_random_actions(harness: Harness) -> None:
    harness.start()
    random, still = harness.hear_answers([harness.ask(C0, random=True), harness.ask(C0)])
    assert len(values_of(random)) > 1
    assert values_of(still) == {0.0}


def test_incarnations_of_one_slot_number_their_trajectories_apart(harness: Harness) -> None:
    harness.start()
    harness.ask(C0)
    first = harness.hear(Answer).payload.incarnation
    harness.transport.stop(C0)
    harness.start(incarnation=2)
    harness.ask(AGAIN)
    assert (first, harness.hear(Answer).payload.incarnation) == (1, 2)


def test_what_no_array_can_carry_travels_and_is_counted(harness: Harness) -> None:
    harness.config = replace(PLAIN, options={"post_collect_hook": hooks.mark_with_words})
    harness.start()
    harness.ask(C0)
    answer = harness.hear(Answer)
    assert answer.pickled == 1
    assert batch_of(answer)["words"] == "not a number"


def test_what_cannot_be_pickled_is_named_and_the_collector_stays(harness: Harness) -> None:
    harness.config = replace(PLAIN, options={"post_collect_hook": hooks.mark_with_unpicklable})
    harness.start()
    harness.ask(C0)
    said = harness.hear(Raised)
    assert (said.where, said.by_environment) == ("frames", False)
    assert said.cause == (
        "TypeError: the entry handle cannot be pickled for the driver: ValueError: a handle of this process; leave "
        "this entry out of the frames"
    )


def test_what_the_driver_cannot_unpickle_is_named_where_it_is_read(harness: Harness) -> None:
    harness.config = replace(PLAIN, options={"post_collect_hook": hooks.mark_with_unreadable})
    harness.start()
    harness.ask(C0)
    answer = harness.hear(Answer)
    with pytest.raises(
        UserCodeError, match=r"^reading the entry handle of the frames in the driver: ValueError: no such handle"
    ):
        batch_of(answer)


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
    frames = [answer.frames for answer in harness.hear_answers(requests)]
    assert (frames[0], frames[2]) == (FRAMES, FRAMES)
    assert 0 < frames[1] < FRAMES
