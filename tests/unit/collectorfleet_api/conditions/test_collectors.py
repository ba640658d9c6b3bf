"""When enough collectors run acknowledged weights, and what is said when they do not."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet_api.conditions.reports import collector, report, spec

from collectorfleet_api.conditions.collectors import collectors_available
from collectorfleet_api.conditions.condition import condition, is_true
from collectorfleet_api.v1alpha1 import CollectorState, ConditionType, DriverReport


def test_collectors_are_unknown_before_the_first_report() -> None:
    expected = condition(
        ConditionType.COLLECTORS_AVAILABLE, None, "NoReport", "the driver has not reported its collectors yet"
    )
    assert collectors_available(spec(), None) == expected
    assert collectors_available(spec(), DriverReport(driver_incarnation=1)) == expected


def test_all_collectors_available() -> None:
    assert collectors_available(spec(), report(16)) == condition(
        ConditionType.COLLECTORS_AVAILABLE, True, "AllAvailable", "16 of 16 collectors run acknowledged weights"
    )


def test_too_few_collectors_name_the_bound_and_the_first_cause_once() -> None:
    lost = [collector(f"c{i}", CollectorState.FAILED, "OutOfMemoryError: killed") for i in (3, 4, 5, 9)]
    fine = collector("c1", CollectorState.READY, "an error it has recovered from")
    assert collectors_available(spec(), report(9, *lost, fine)) == condition(
        ConditionType.COLLECTORS_AVAILABLE,
        False,
        "BelowMinAvailable",
        "9 of 16 collectors run acknowledged weights; minAvailable is 12; "
        "OutOfMemoryError: killed (4 of 5 collectors: c3-c5, c9)",
    )


def test_a_lost_collector_above_the_bound_is_told_and_tolerated() -> None:
    lost = collector("c3", CollectorState.RETIRED, "ActorDied: node lost")
    assert collectors_available(spec(), report(15, lost)) == condition(
        ConditionType.COLLECTORS_AVAILABLE,
        True,
        "SomeUnavailable",
        "15 of 16 collectors run acknowledged weights; ActorDied: node lost (1 of 1 collectors: c3)",
    )


def test_collectors_that_have_not_started_yet_are_no_failure() -> None:
    found = collectors_available(spec(), report(0, collector("c0", CollectorState.JOINING)))
    assert (found.reason, found.message) == (
        "CollectorsStarting",
        "0 of 16 collectors run acknowledged weights; minAvailable is 12",
    )


@pytest.mark.parametrize(("asked", "enough"), [("75%", 12), ("1%", 1), ("70%", 12), ("100%", 16)])
def test_a_percentage_is_of_the_replicas_and_rounded_up(asked: str, enough: int) -> None:
    wanted = spec(replicas=16, min_available=asked)
    assert is_true(collectors_available(wanted, report(enough)))
    assert not is_true(collectors_available(wanted, report(enough - 1)))


def test_more_min_available_than_replicas_counts_as_replicas() -> None:
    found = collectors_available(spec(replicas=4, min_available=12), report(4))
    assert is_true(found)
