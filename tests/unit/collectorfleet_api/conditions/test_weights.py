"""When weights are fresh, and what is said when they are not."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet_api.conditions.reports import JUST_NOW, LONG_AGO, NOON, weights

from collectorfleet_api.conditions.condition import condition, is_true
from collectorfleet_api.conditions.weights import weights_fresh
from collectorfleet_api.v1alpha1 import ConditionType, DriverReport, Staleness, WeightsFailure


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
            "not all available collectors acknowledged version 412 within 60 s; the last version that all of them "
            "acknowledged is 410",
            id="late",
        ),
        pytest.param(
            weights(published=1, last_publish_time=LONG_AGO),
            False,
            "AcknowledgementLate",
            "not all available collectors acknowledged version 1 within 60 s; no version is acknowledged by all of "
            "them",
            id="never",
        ),
        pytest.param(
            weights(published=412, acknowledged=412, staleness=Staleness(bound=2, max=4)),
            False,
            "StalenessBoundExceeded",
            "a batch was 4 versions stale; the bound is 2",
            id="too stale",
        ),
        pytest.param(
            weights(published=412, acknowledged=412, staleness=Staleness(max=4)),
            True,
            "Acknowledged",
            "published weights are acknowledged within 60 s; status.weights has the versions",
            id="without a bound in force, as of a script that has none",
        ),
    ],
)
def test_weights_are_fresh_while_collectors_follow_what_is_published(
    seen: DriverReport | None, status: bool | None, reason: str, message: str
) -> None:
    found = weights_fresh(seen, NOON)
    assert found == condition(ConditionType.WEIGHTS_FRESH, status, reason, message)


def test_a_collector_that_cannot_apply_a_version_is_named_until_a_newer_one_is_acknowledged() -> None:
    failure = WeightsFailure(collector="c3", version=411, time=NOON, reason="ApplyFailed", message="KeyError: 'bias'")
    held = weights_fresh(weights(published=412, acknowledged=410, last_failure=failure), NOON)
    assert (held.reason, held.message) == (
        "WeightUpdateFailed",
        "c3 could not apply version 411: KeyError: 'bias'",
    )
    assert is_true(weights_fresh(weights(published=412, acknowledged=411, last_failure=failure), NOON))
