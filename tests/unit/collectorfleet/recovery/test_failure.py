"""What becomes of a lost collector: when it starts again, and when it does not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from collectorfleet.messages import Fault
from collectorfleet.recovery.failure import (
    Decision,
    Fail,
    GiveUp,
    Loss,
    OnEnvironmentError,
    Replace,
    ReplaceWithBackoff,
)

POLICY = ReplaceWithBackoff(budget=4, first_pause=timedelta(seconds=3), longest_pause=timedelta(seconds=10))
OTHER_FAULTS = [fault for fault in Fault if fault not in (Fault.ENVIRONMENT, Fault.NODE_LOST)]


def decide(restarts: int, fault: Fault = Fault.DIED, policy: ReplaceWithBackoff = POLICY) -> Replace | GiveUp | Fail:
    return policy.decide(Loss("c3", "pod evicted", restarts, fault))


@pytest.mark.parametrize(("restarts", "seconds"), [(0, 0), (1, 3), (2, 6), (3, 10)])
def test_each_pause_is_twice_the_last_up_to_the_longest(restarts: int, seconds: int) -> None:
    text = f"pod evicted; restart {restarts + 1} of 4"
    assert decide(restarts) == Replace(timedelta(seconds=seconds), text)


@pytest.mark.parametrize(("first", "longest"), [(1, 60), (0, 0), (604_800, 1), (0.000001, 604_800)])
def test_a_pause_has_its_limit_after_any_number_of_restarts(first: float, longest: float) -> None:
    policy = ReplaceWithBackoff(5000, timedelta(seconds=first), timedelta(seconds=longest))
    text = "pod evicted; restart 4001 of 5000"
    assert decide(4000, policy=policy) == Replace(timedelta(seconds=longest), text)


def test_without_a_first_pause_no_restart_waits() -> None:
    policy = ReplaceWithBackoff(5000, first_pause=timedelta(0))
    assert decide(4000, policy=policy) == Replace(timedelta(0), "pod evicted; restart 4001 of 5000")


@pytest.mark.parametrize("restarts", [4, 5])
def test_a_collector_is_given_up_once_its_restarts_are_used_up(restarts: int) -> None:
    assert decide(restarts) == GiveUp("pod evicted; all 4 restarts are used up")


def test_without_a_budget_the_first_loss_is_the_last() -> None:
    assert decide(0, policy=ReplaceWithBackoff(budget=0)) == GiveUp("pod evicted; all 0 restarts are used up")


@pytest.mark.parametrize("restarts", [0, 1, 4, 50])
def test_a_collector_whose_node_was_lost_starts_again_at_once_and_costs_no_restart(restarts: int) -> None:
    assert decide(restarts, Fault.NODE_LOST) == Replace(timedelta(0), "pod evicted")


@pytest.mark.parametrize("restarts", [0, 4])
def test_an_environment_that_raises_ends_the_run_with_its_own_error(restarts: int) -> None:
    assert decide(restarts, Fault.ENVIRONMENT) == Fail("pod evicted")


def test_an_environment_that_is_known_to_fail_is_a_loss_like_others() -> None:
    flaky = ReplaceWithBackoff(budget=1, on_environment_error=OnEnvironmentError.RESTART)
    assert decide(0, Fault.ENVIRONMENT, flaky) == Replace(timedelta(0), "pod evicted; restart 1 of 1")
    assert decide(1, Fault.ENVIRONMENT, flaky) == GiveUp("pod evicted; its only restart is used up")


@pytest.mark.parametrize(
    ("word", "decision"),
    [("fail", Fail("pod evicted")), ("restart", Replace(timedelta(0), "pod evicted; restart 1 of 10"))],
)
def test_the_decision_after_an_environment_error_can_be_given_as_a_word(word: Any, decision: Decision) -> None:
    assert decide(0, Fault.ENVIRONMENT, ReplaceWithBackoff(on_environment_error=word)) == decision


@pytest.mark.parametrize("fault", OTHER_FAULTS)
def test_every_other_fault_costs_a_restart(fault: Fault) -> None:
    assert decide(1, fault) == Replace(timedelta(seconds=3), "pod evicted; restart 2 of 4")
    assert decide(4, fault) == GiveUp("pod evicted; all 4 restarts are used up")


def test_by_default_pauses_grow_from_none_to_a_minute_and_ten_restarts_are_all() -> None:
    decisions = [decide(restarts, policy=ReplaceWithBackoff()) for restarts in range(11)]
    pauses = [one.after.total_seconds() for one in decisions if isinstance(one, Replace)]
    assert pauses == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert decisions[10] == GiveUp("pod evicted; all 10 restarts are used up")
    assert decide(0, Fault.ENVIRONMENT, ReplaceWithBackoff()) == Fail("pod evicted")
