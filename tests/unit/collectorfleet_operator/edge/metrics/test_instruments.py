"""What is counted of the operator's work, and the page that lists it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from tests.cluster.binaries import ROOT
from tests.delivery.monitoring.exporters import operator_families

from collectorfleet_operator.edge.errors import (
    ConflictError,
    KubeError,
    NotServedError,
    UnavailableError,
    UndeclaredFieldError,
)
from collectorfleet_operator.edge.metrics.instruments import Instruments, Outcome, outcome_of
from collectorfleet_operator.edge.metrics.requests import Request
from collectorfleet_operator.objects import Key

KEY = Key("lab", "cheetah")


def value(found: Instruments, name: str, **labels: str) -> float | None:
    return found.registry.get_sample_value(f"collectorfleet_operator_{name}", labels)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(UnavailableError("list pods", "no answer"), Outcome.UNAVAILABLE, id="unavailable"),
        pytest.param(ConflictError("apply", "changed"), Outcome.CONFLICT, id="conflict"),
        pytest.param(NotServedError("list", "404"), Outcome.NOT_SERVED, id="not-served"),
        pytest.param(UndeclaredFieldError("apply", "no such field", ".status.x"), Outcome.REFUSED, id="refused"),
        pytest.param(KeyError("uid"), Outcome.CRASHED, id="ours"),
    ],
)
def test_a_reconciliation_that_failed_counts_under_its_reason_and_is_raised(error: Exception, outcome: Outcome) -> None:
    times = iter([10.0, 10.75])
    found = Instruments(lambda: next(times))

    async def fail(_: Key) -> timedelta | None:
        raise error

    with pytest.raises(type(error)):
        asyncio.run(found.timed(fail)(KEY))  # type: ignore[arg-type]
    assert {one: value(found, "reconciles_total", outcome=one.value) for one in Outcome} == {
        one: float(one is outcome) for one in Outcome
    }
    assert value(found, "reconcile_duration_seconds_sum") == 0.75


def test_every_error_of_the_api_server_has_an_outcome_of_its_own() -> None:
    made = {type_: outcome_of(type_("list pods", "no")) for type_ in KubeError.__subclasses__()}
    assert Outcome.CRASHED not in made.values()
    assert len(set(made.values())) == len(made)


def test_a_reconciliation_that_ends_well_keeps_its_answer() -> None:
    found = Instruments()

    async def again_in_a_minute(_: Key) -> timedelta | None:
        return timedelta(minutes=1)

    assert asyncio.run(found.timed(again_in_a_minute)(KEY)) == timedelta(minutes=1)  # type: ignore[arg-type]
    assert value(found, "reconciles_total", outcome="Done") == 1


def test_a_watch_is_counted_and_not_timed() -> None:
    found = Instruments()
    found.requested(Request("watch", "pods"), "200", 300.0)
    found.requested(Request("list", "pods"), "NoAnswer", 10.0)
    assert value(found, "api_requests_total", verb="watch", resource="pods", code="200") == 1
    assert value(found, "api_requests_total", verb="list", resource="pods", code="NoAnswer") == 1
    assert value(found, "api_request_duration_seconds_count", verb="watch", resource="pods") is None
    assert value(found, "api_request_duration_seconds_count", verb="list", resource="pods") == 1


def test_what_is_not_known_is_absent_and_not_zero() -> None:
    assert value(Instruments(), "fleets", phase="Collecting") is None


def test_the_page_on_monitoring_has_each_metric_with_its_type_labels_and_description() -> None:
    page = (ROOT / "docs/monitoring.md").read_text()
    rows = [
        f"| `{name}` | {family.type} | {', '.join(f'`{label}`' for label in labels)} | {family.documentation} |"
        for family, name, labels in operator_families()
    ]
    assert len(rows) > 10
    assert [row for row in rows if row not in page] == []
