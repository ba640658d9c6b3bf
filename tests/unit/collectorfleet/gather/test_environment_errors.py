"""An environment that raises: the end of the run, or a loss within a budget, as the failure policy has it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.errors import InfrastructureError, UserCodeError
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import Fault
from collectorfleet.recovery.failure import (
    Fail,
    FailurePolicy,
    GiveUp,
    Loss,
    OnEnvironmentError,
    Replace,
    ReplaceWithBackoff,
)

HOUR = timedelta(hours=1)
RESTART = ReplaceWithBackoff(budget=2, on_environment_error=OnEnvironmentError.RESTART)


class Decides:
    """A user's policy."""

    def __init__(self, decision: Callable[[Loss], Any]) -> None:
        self.seen: list[Loss] = []
        self._decision = decision

    def decide(self, loss: Loss) -> Any:
        self.seen.append(loss)
        return self._decision(loss)


def a_fleet(failure: FailurePolicy | None = None) -> Played:
    """Of two collectors, of which each works on a request."""
    fleet = Played(
        Plan(shares=2, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None),
        collectors=2,
        limits=Limits(HOUR, HOUR, HOUR, min_available=1),
        failure=failure,
    )
    fleet.consumer.stage("weights")
    fleet.turn()
    build_all(fleet)
    fleet.consumer.request_batch()
    fleet.turn()
    assert all(remote.requests for remote in fleet.world.alive.values())
    return fleet


def build_all(fleet: Played) -> None:
    for remote in fleet.world.alive.values():
        if not remote.built:
            fleet.world.build(remote)
    fleet.turn()
    fleet.turn()
    for remote in fleet.world.alive.values():
        if remote.acknowledged < remote.offered:
            fleet.world.load(remote)
    fleet.turn()


def asked(fleet: Played) -> bool:
    with fleet.shared.changed:
        return fleet.consumer.request_batch()


def test_the_first_error_ends_the_run_with_its_own_words() -> None:
    fleet = a_fleet()
    fleet.world.environment_raises(fleet.remote("c1"))
    fleet.turn()
    with pytest.raises(UserCodeError, match=r"^environment my_envs:make \(collector c1\): ValueError: no such game$"):
        asked(fleet)


def test_a_fleet_that_restarts_asks_another_and_goes_on() -> None:
    fleet = a_fleet(RESTART)
    fleet.world.environment_raises(fleet.remote("c1"))
    fleet.turn()
    assert fleet.shared.slots.by_name["c1"].last_error == "ValueError: no such game"
    assert fleet.shared.slots.last_fault is Fault.ENVIRONMENT
    assert len(fleet.remote("c0").requests) == 1
    fleet.turn()
    build_all(fleet)
    fleet.turn()
    for name in ("c0", "c1"):
        fleet.world.answer(fleet.remote(name))
    fleet.turn()
    fleet.turn()
    batch = fleet.take()
    assert batch is not None
    assert batch.frames == 2 * FRAMES
    assert fleet.shared.slots.restarts == 1


def test_restarts_are_a_budget_and_the_run_ends_with_the_last_error() -> None:
    fleet = a_fleet(RESTART)
    for _ in range(6):
        for remote in list(fleet.world.alive.values()):
            fleet.world.environment_raises(remote)
        fleet.turn(seconds=60)
        fleet.turn(seconds=60)
    with pytest.raises(
        UserCodeError, match=r"only 0 of 2 collectors left .*; environment my_envs:make \(collector c.\): ValueError"
    ) as raised:
        asked(fleet)
    assert raised.value.traceback == "line 1"
    assert fleet.shared.slots.restarts == 4


def test_the_policys_own_error_ends_the_run_whatever_environments_may_do() -> None:
    fleet = a_fleet(RESTART)
    fleet.world.policy_raises(fleet.remote("c1"))
    fleet.turn()
    with pytest.raises(UserCodeError, match=r"^policy \(collector c1\): ZeroDivisionError"):
        asked(fleet)


def test_a_policy_of_the_user_is_asked_about_environments_too() -> None:
    policy = Decides(lambda loss: GiveUp(loss.cause))
    fleet = a_fleet(policy)
    fleet.world.environment_raises(fleet.remote("c1"))
    fleet.turn()
    assert policy.seen == [Loss("c1", "ValueError: no such game", 0, Fault.ENVIRONMENT)]
    assert asked(fleet)


def test_a_policy_of_the_user_may_end_the_run_at_any_loss() -> None:
    fleet = a_fleet(Decides(lambda loss: Fail(loss.cause)))
    fleet.world.die(fleet.remote("c0"))
    fleet.turn()
    with pytest.raises(InfrastructureError, match="collector c0: it died"):
        asked(fleet)


def _raises(loss: Loss) -> None:
    raise KeyError(loss.collector)


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (_raises, "failure_policy: KeyError: 'c0'"),
        (lambda _: None, "failure_policy: TypeError: decide.. returned None; return Replace, GiveUp or Fail"),
        (lambda _: sys.exit("too many losses"), "failure_policy: SystemExit: too many losses"),
        (
            lambda _: Replace(5, "soon"),  # type: ignore[arg-type]
            r"failure_policy: TypeError: decide.. returned Replace.after=5, reason='soon'.; give Replace a timedelta",
        ),
    ],
)
def test_a_policy_that_is_broken_is_the_users_code(decision: Callable[[Loss], Any], said: str) -> None:
    fleet = a_fleet(Decides(decision))
    fleet.world.die(fleet.remote("c0"))
    fleet.turn()
    with pytest.raises(UserCodeError, match=said):
        asked(fleet)
