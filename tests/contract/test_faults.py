"""What every transport has to do when something breaks, and at the end."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests import envs
from tests.contract.harness import (
    AGAIN,
    C0,
    PLAIN,
    Harness,
    make_gated,
    misbehaving,
    waits_at,
)
from tests.wait import eventually

from collectorfleet.messages import Answer, CollectorId, Fault, Lost, Raised


@pytest.mark.parametrize(("how", "cause"), [("raise", "ValueError: the game is broken"), ("exit", "SystemExit: 2")])
def test_an_error_of_the_environment_says_whose_it_is(harness: Harness, how: str, cause: str) -> None:
    harness.config = replace(PLAIN, create_env=misbehaving(how))
    harness.start()
    harness.ask(C0)
    raised = harness.hear(Raised)
    assert raised.where.startswith("environment")
    assert (raised.cause, raised.by_environment) == (cause, True)


def test_an_error_of_the_policy_says_whose_it_is(harness: Harness) -> None:
    harness.use_policy(envs.make_broken_policy())
    harness.transport.start(C0)  # TorchRL tries the policy while it builds the collector
    raised = harness.hear(Raised)
    assert (raised.where, raised.cause) == ("policy", "ZeroDivisionError: the policy is broken")
    assert not raised.by_environment


def test_an_option_that_torchrls_collector_refuses_is_not_blamed_on_the_policy(harness: Harness) -> None:
    harness.config = replace(PLAIN, create_env=envs.make_counted_steps, options={"max_frames_per_traj": 5})
    harness.transport.start(C0)
    raised = harness.hear(Raised)
    assert raised.where == "collector options"
    assert "'step_count' key is already present" in raised.cause
    assert not raised.by_environment


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
    # Longer than pytest lets a test run, so only the wake can end it in time.
    assert harness.transport.wait(3600) == []


def test_closing_ends_all_whatever_they_do(harness: Harness, gate: Path) -> None:
    harness.config = replace(PLAIN, create_env=partial(make_gated, str(gate)))
    started = [harness.start("c0"), harness.start("c1")]
    harness.ask(C0)
    waits_at(gate)
    harness.transport.close()
    for one in started:
        eventually(lambda one=one: not harness.backdoor.lives(one), within=30, what=f"the end of {one.collector}")
    assert harness.transport.wait(0.2) == []
