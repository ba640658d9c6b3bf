"""What the outcome and the other conditions add up to."""

from __future__ import annotations

from tests.unit.collectorfleet_api.conditions.reports import report, spec

from collectorfleet_api.conditions.collectors import collectors_available
from collectorfleet_api.conditions.condition import condition, is_true
from collectorfleet_api.conditions.outcome import Completed, Failed, Running
from collectorfleet_api.conditions.summary import completed, ready, stalled
from collectorfleet_api.v1alpha1 import ConditionType


def test_a_finished_fleet_is_ready_and_completed() -> None:
    done = Completed("train returned after 100000 frames")
    assert ready(done, [collectors_available(spec(), None)]) == condition(
        ConditionType.READY, True, "Completed", "train returned after 100000 frames"
    )
    assert is_true(completed(done))
    assert not is_true(stalled(done))


def test_a_failed_fleet_says_the_first_cause_everywhere_and_waits_for_the_user() -> None:
    failed = Failed("environment my_envs:make (collector c0): ValueError: no such game")
    for found in (ready(failed, []), completed(failed)):
        assert (found.status.value, found.reason, found.message) == ("False", "Failed", failed.message)
    assert is_true(stalled(failed))


def test_a_running_fleet_is_ready_once_nothing_is_missing_and_else_says_what_is() -> None:
    few, enough = collectors_available(spec(), report(9)), collectors_available(spec(), report(16))
    assert ready(Running(), [few]).message == few.message
    assert ready(Running(), [enough]) == condition(
        ConditionType.READY, True, "Collecting", "16 of 16 collectors run acknowledged weights"
    )
