from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.manifests import fleet

from collectorfleet_api import conditions as c
from collectorfleet_api.v1alpha1 import (
    CollectorCounts,
    CollectorFleetSpec,
    CollectorState,
    CollectorStatus,
    DriverReport,
    Progress,
    Staleness,
    WeightsFailure,
    WeightsStatus,
)

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
JUST_NOW = NOON - timedelta(seconds=1)
LONG_AGO = NOON - timedelta(seconds=61)


def spec(replicas: int = 16, min_available: int = 12, **collection: Any) -> CollectorFleetSpec:
    return fleet(
        {
            "spec.collectors.replicas": replicas,
            "spec.collectors.minAvailable": min_available,
            "spec.collection": {"framesPerBatch": 16, **collection},
        }
    ).spec


def report(available: int, *collectors: CollectorStatus, desired: int = 16) -> DriverReport:
    counts = CollectorCounts(desired=desired, available=available, summary=f"{available}/{desired}")
    return DriverReport(progress=Progress(collectors=counts), collectors=list(collectors))


def collector(name: str, state: CollectorState, error: str | None = None) -> CollectorStatus:
    return CollectorStatus(name=name, state=state, last_error=error)


def weights(**fields: Any) -> DriverReport:
    return DriverReport(weights=WeightsStatus(**fields))


def test_collectors_are_unknown_before_the_first_report() -> None:
    expected = c.condition(c.COLLECTORS_AVAILABLE, None, "NoReport", "the driver has not reported its collectors yet")
    assert c.collectors_available(spec(), None) == expected
    assert c.collectors_available(spec(), DriverReport(driver_incarnation=1)) == expected


def test_all_collectors_available() -> None:
    assert c.collectors_available(spec(), report(16)) == c.condition(
        c.COLLECTORS_AVAILABLE, True, "AllAvailable", "16 of 16 collectors run acknowledged weights"
    )


def test_too_few_collectors_name_the_bound_and_the_first_cause_once() -> None:
    lost = [collector(f"c{i}", CollectorState.FAILED, "OutOfMemoryError: killed") for i in (3, 4, 5, 9)]
    fine = collector("c1", CollectorState.READY, "an error it has recovered from")
    assert c.collectors_available(spec(), report(9, *lost, fine)) == c.condition(
        c.COLLECTORS_AVAILABLE,
        False,
        "BelowMinAvailable",
        "9 of 16 collectors run acknowledged weights; minAvailable is 12; "
        "OutOfMemoryError: killed (4 of 5 collectors: c3-c5, c9)",
    )


def test_a_lost_collector_above_the_bound_is_told_and_tolerated() -> None:
    lost = collector("c3", CollectorState.RETIRED, "ActorDied: node lost")
    assert c.collectors_available(spec(), report(15, lost)) == c.condition(
        c.COLLECTORS_AVAILABLE,
        True,
        "SomeUnavailable",
        "15 of 16 collectors run acknowledged weights; ActorDied: node lost (1 of 1 collectors: c3)",
    )


def test_collectors_that_have_not_started_yet_are_no_failure() -> None:
    found = c.collectors_available(spec(), report(0, collector("c0", CollectorState.JOINING)))
    assert (found.reason, found.message) == (
        "CollectorsStarting",
        "0 of 16 collectors run acknowledged weights; minAvailable is 12",
    )


def test_more_min_available_than_replicas_counts_as_replicas() -> None:
    found = c.collectors_available(spec(replicas=4, min_available=12), report(4))
    assert c.is_true(found)


@pytest.mark.parametrize(
    ("seen", "status", "reason", "message"),
    [
        pytest.param(None, None, "NotPublished", "the driver has not reported published weights yet", id="no report"),
        pytest.param(
            weights(published=1, last_publish_time=JUST_NOW),
            None,
            "NotAcknowledged",
            "no version is acknowledged by every available collector yet",
            id="published a moment ago",
        ),
        pytest.param(
            weights(published=412, acknowledged=410, last_publish_time=JUST_NOW),
            True,
            "Acknowledged",
            "published weights are acknowledged within 60 s; status.weights has the versions",
            id="two versions behind for a moment",
        ),
        pytest.param(
            weights(published=412, acknowledged=412, last_publish_time=LONG_AGO),
            True,
            "Acknowledged",
            "published weights are acknowledged within 60 s; status.weights has the versions",
            id="all there, and nothing new since",
        ),
        pytest.param(
            weights(published=412, acknowledged=410, last_publish_time=LONG_AGO),
            False,
            "AcknowledgementLate",
            "version 412 is not acknowledged 60 s after it was published; "
            "acknowledged by all available collectors: version 410",
            id="late",
        ),
        pytest.param(
            weights(published=1, last_publish_time=LONG_AGO),
            False,
            "AcknowledgementLate",
            "version 1 is not acknowledged 60 s after it was published; acknowledged by all available collectors: none",
            id="never",
        ),
        pytest.param(
            weights(published=412, acknowledged=412, staleness=Staleness(max=4)),
            False,
            "StalenessBoundExceeded",
            "a batch was 4 versions stale; collection.maxStaleness is 2",
            id="too stale",
        ),
    ],
)
def test_weights_are_fresh_while_collectors_follow_what_is_published(
    seen: DriverReport | None, status: bool | None, reason: str, message: str
) -> None:
    found = c.weights_fresh(spec(mode="Async", maxStaleness=2), seen, NOON)
    assert found == c.condition(c.WEIGHTS_FRESH, status, reason, message)


def test_a_collector_that_cannot_apply_a_version_is_named_until_a_newer_one_is_acknowledged() -> None:
    failure = WeightsFailure(collector="c3", version=411, time=NOON, reason="ApplyFailed", message="KeyError: 'bias'")
    held = c.weights_fresh(spec(), weights(published=412, acknowledged=410, last_failure=failure), NOON)
    assert (held.reason, held.message) == (
        "WeightUpdateFailed",
        "c3 could not apply version 411: KeyError: 'bias'",
    )
    assert c.is_true(c.weights_fresh(spec(), weights(published=412, acknowledged=411, last_failure=failure), NOON))


def test_a_finished_fleet_is_ready_and_completed() -> None:
    done = c.Succeeded("train returned after 100000 frames")
    assert c.ready(done, [c.collectors_available(spec(), None)]) == c.condition(
        c.READY, True, "Completed", "train returned after 100000 frames"
    )
    assert c.is_true(c.completed(done))
    assert not c.is_true(c.stalled(done))


def test_a_failed_fleet_says_the_first_cause_everywhere_and_waits_for_the_user() -> None:
    failed = c.Failed("environment my_envs:make (collector c0): ValueError: no such game")
    for found in (c.ready(failed, []), c.completed(failed)):
        assert (found.status.value, found.reason, found.message) == ("False", "Failed", failed.message)
    assert c.is_true(c.stalled(failed))


def test_a_running_fleet_is_ready_once_nothing_is_missing_and_else_says_what_is() -> None:
    few, enough = c.collectors_available(spec(), report(9)), c.collectors_available(spec(), report(16))
    assert c.ready(c.Running(), [few]).message == few.message
    assert c.ready(c.Running(), [enough]) == c.condition(
        c.READY, True, "Collecting", "16 of 16 collectors run acknowledged weights"
    )


def test_a_transition_is_dated_when_the_status_changes_and_not_when_the_words_do() -> None:
    before = c.stamped([c.condition("Ready", False, "A", "a")], [], LONG_AGO, 1)
    same = c.stamped([c.condition("Ready", False, "B", "b")], before, NOON, 2)
    changed = c.stamped([c.condition("Ready", True, "C", "c")], same, NOON, 2)
    assert [found.last_transition_time for found in (*before, *same, *changed)] == [LONG_AGO, LONG_AGO, NOON]
    assert [found.observed_generation for found in (*before, *same)] == [1, 2]


def test_a_message_of_any_length_fits_into_a_condition() -> None:
    found = c.completed(c.Failed("x" * 100_000))
    assert len(found.message) == 8000
    assert found.message.endswith(" ...")


def test_names_are_told_as_ranges() -> None:
    assert c.name_ranges(["c2", "c0", "c1", "c15", "other", "c7", "c8"]) == "other, c0-c2, c7-c8, c15"
