"""What becomes of a report that the API server takes, refuses, or cannot be asked about."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from kubernetes.aio.client import ApiException
from tests.unit.collectorfleet.pod.played_api import SETTINGS, PlayedApi

from collectorfleet.pod import status_writer
from collectorfleet.pod.status_writer import StatusWriter
from collectorfleet.run.exit import FleetGone
from collectorfleet_api.v1alpha1 import DriverReport, Progress, WeightsStatus

REPORT = DriverReport(weights=WeightsStatus(published=3, digest="sha256:abc"), progress=Progress(batches=3))


def refusal(message: str, status: int = 500) -> ApiException:
    error = ApiException(status=status)
    error.body = json.dumps({"message": message})
    return error


def writer(api: PlayedApi) -> StatusWriter:
    return StatusWriter(api, SETTINGS)  # type: ignore[arg-type]


def test_what_was_taken_is_known_and_answered_with_the_fleet() -> None:
    api = PlayedApi()
    out = writer(api)
    assert out.due(REPORT)
    assert asyncio.run(out.write(REPORT)) == api.stored
    assert out.has_written(REPORT)
    assert not out.due(REPORT)
    (written,) = api.written
    assert written["weights"] == REPORT.to_wire()["weights"]


def test_a_map_without_entries_is_left_out_as_one_that_had_some_would_become_a_null() -> None:
    api = PlayedApi()
    asyncio.run(writer(api).write(DriverReport(progress=Progress(batches=3, metrics={}))))
    assert "metrics" not in api.written[0]["progress"]


def test_an_api_server_that_does_not_answer_leaves_the_report_to_be_written() -> None:
    out = writer(PlayedApi(ConnectionRefusedError("refused")))
    assert asyncio.run(out.write(REPORT)) is None
    assert not out.has_written(REPORT)
    assert out.due(REPORT)


def test_a_field_that_an_older_crd_does_not_know_is_left_out_from_then_on(caplog: pytest.LogCaptureFixture) -> None:
    api = PlayedApi(refusal("  .status.weights.digest: field not declared in schema"))
    out = writer(api)
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(out.write(REPORT)) == api.stored
        assert asyncio.run(out.write(REPORT)) == api.stored
    assert ["digest" in status["weights"] for status in api.written] == [True, False, False]
    assert [record.message for record in caplog.records] == [
        "the installed CRD does not know status.weights.digest, so reports omit it; update the CRD"
    ]


def test_a_server_that_goes_on_complaining_of_the_same_field_is_not_asked_for_ever() -> None:
    complaint = "  .status.weights.digest: field not declared in schema"
    api = PlayedApi(refusal(complaint), refusal(complaint))
    assert asyncio.run(writer(api).write(REPORT)) is None
    assert len(api.written) == 2


def test_a_field_that_was_left_out_is_tried_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    api = PlayedApi(refusal("  .status.weights.digest: field not declared in schema"))
    out, now = writer(api), [0.0]
    monkeypatch.setattr(status_writer.time, "monotonic", lambda: now[0])
    asyncio.run(out.write(REPORT))
    now[0] = status_writer.TRY_AGAIN_SECONDS
    asyncio.run(out.write(REPORT))
    assert ["digest" in status["weights"] for status in api.written] == [True, False, True]


def test_a_fleet_that_was_deleted_takes_no_reports() -> None:
    with pytest.raises(FleetGone, match="fleet default/cheetah was deleted"):
        asyncio.run(writer(PlayedApi(refusal("not found", status=404))).write(REPORT))


def test_a_fleet_that_was_made_again_under_the_name_is_another() -> None:
    api = PlayedApi()
    api.stored["metadata"]["uid"] = "u-2"
    with pytest.raises(FleetGone, match="was replaced: this driver belongs to uid u-1, and the fleet now has u-2"):
        asyncio.run(writer(api).write(REPORT))
