from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import ValidationError
from tests.manifests import fleet, manifest

import collectorfleet_api.v1alpha1 as v1alpha1
from collectorfleet_api.v1alpha1 import (
    CollectorFleet,
    CollectorFleetStatus,
    Condition,
    ConditionStatus,
    DriverReport,
    Mode,
    OperatorStatus,
    Progress,
    Publishes,
    WeightsStatus,
)


def test_a_manifest_is_read_with_its_defaults() -> None:
    found = fleet({"spec.collection.mode": "Async"})
    assert found.spec.collection.mode is Mode.ASYNC
    assert found.spec.collectors.resources.memory == "2Gi"
    assert (found.metadata.namespace, found.metadata.uid) == ("default", None)


def test_absent_staleness_is_on_policy_in_sync_and_unbounded_in_async() -> None:
    assert fleet().spec.collection.staleness_bound == 0
    assert fleet({"spec.collection.mode": "Async"}).spec.collection.staleness_bound is None


def test_a_stored_fleet_is_read_past_what_this_release_does_not_know() -> None:
    stored = manifest({"spec.later": 1, "metadata.managedFields": [{}], "metadata.uid": "u"})
    stored["status"] = {"observedGeneration": -1, "weights": {"published": 3, "later": 1}}
    found = CollectorFleet.parse_stored(stored)
    assert found.metadata.uid == "u"
    assert found.status is not None
    assert found.status.weights == WeightsStatus(published=3)
    with pytest.raises(ValidationError):
        CollectorFleet.parse(stored)


def test_of_a_stored_status_what_this_release_has_no_word_for_is_left_out_and_all_else_is_read() -> None:
    stored = manifest()
    ready = {"type": "Ready", "status": "True", "reason": "Collecting"}
    rows = [{"name": f"c{i}", "state": "Dreaming" if i in (1, 9, 10) else "Ready"} for i in range(12)]
    stored["status"] = {
        "phase": "Dreaming",
        "observedGeneration": 3,
        "conditions": [{**ready, "status": "Perhaps"}, ready, {"type": "Lacks"}],
        "collectors": rows,
        "weights": {"published": 4, "staleness": {"max": "much"}},
        "progress": 7,
    }
    found = CollectorFleet.parse_stored(stored).status
    assert found is not None
    assert (found.phase, found.observed_generation, found.progress) == (None, 3, None)
    assert [one.type for one in found.conditions] == ["Ready"]
    assert [row.name for row in found.collectors] == ["c0", *(f"c{i}" for i in range(2, 9)), "c11"]
    assert found.weights is not None
    assert found.weights.published == 4


def test_a_status_that_is_none_at_all_is_left_out() -> None:
    for status in ({"conditions": 1}, {"collectors": [None, 1]}, {}, [], [1], "Ready", 7, None):
        stored = {**manifest(), "status": status}
        found = CollectorFleet.parse_stored(stored).status
        assert found is None or (found.conditions, found.collectors) == ([], [])


def test_a_manifest_is_read_by_the_names_of_manifests_only() -> None:
    with pytest.raises(ValidationError, match=r"spec\.code\.config_map"):
        fleet({"spec.code": {"config_map": "code"}})


def test_whole_numbers_may_be_written_as_floats_and_text_is_no_number() -> None:
    assert fleet({"spec.collection.totalFrames": 1e7}).spec.collection.total_frames == 10_000_000
    with pytest.raises(ValidationError):
        fleet({"spec.collection.totalFrames": 1.5})
    with pytest.raises(ValidationError):
        fleet({"spec.collectors.replicas": True})


def test_nulls_in_keyword_arguments_survive_and_absent_fields_stay_absent() -> None:
    found = fleet({"spec.environment.kwargs": {"seed": None}}).to_wire()["spec"]
    assert found["environment"]["kwargs"] == {"seed": None}
    assert "code" not in found


def test_an_entry_of_a_map_that_is_null_is_absent_as_a_field_is() -> None:
    spec = fleet(
        {
            "spec.collectors.resources.custom": {"license": 1, "disk": None},
            "spec.workers.customPerPod": {"license": 2, "disk": None},
        }
    ).spec
    assert spec.collectors.resources.custom == {"license": 1}
    assert spec.workers.custom_per_pod == {"license": 2}


def test_times_go_out_in_utc_to_the_second_and_come_back() -> None:
    berlin = timezone(timedelta(hours=2))
    at = datetime(2026, 7, 1, 14, 0, 5, 999_999, tzinfo=berlin)
    wire = Condition(type="Ready", status=ConditionStatus.TRUE, reason="A", last_transition_time=at).to_wire()
    assert wire["lastTransitionTime"] == "2026-07-01T12:00:05Z"
    assert Condition.from_wire(wire).last_transition_time == datetime(2026, 7, 1, 12, 0, 5, tzinfo=UTC)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValidationError):
        Condition(
            type="Ready",
            status=ConditionStatus.TRUE,
            reason="A",
            last_transition_time=datetime(2026, 7, 1),  # noqa: DTZ001
        )


def test_a_report_goes_out_in_camel_case_and_comes_back() -> None:
    report = DriverReport(
        fleet_uid="u",
        weights=WeightsStatus(published=2, publishes=Publishes(attempted=2)),
        progress=Progress(frames_per_second=1234.56789, metrics={"reward": 12.5}),
    )
    wire = report.to_wire()
    assert wire["fleetUID"] == "u"
    assert wire["progress"]["framesPerSecond"] == 1234.568
    assert DriverReport.from_wire(wire).weights == report.weights


def test_a_metric_that_is_not_a_number_is_absent_and_spoils_nothing() -> None:
    assert Progress(metrics={"loss": float("nan"), "reward": 1.0}).to_wire()["metrics"] == {"reward": 1.0}


def test_operator_and_driver_share_no_field_of_the_status() -> None:
    operator, driver = set(OperatorStatus.model_fields), set(DriverReport.model_fields)
    assert not operator & driver
    assert set(CollectorFleetStatus.model_fields) == operator | driver


def test_everything_public_can_be_imported() -> None:
    assert [name for name in v1alpha1.__all__ if not hasattr(v1alpha1, name)] == []
    assert sorted(v1alpha1.__all__) == v1alpha1.__all__
