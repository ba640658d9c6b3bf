"""The driver's reports against a real API server, with the rights that the operator gives a driver."""

from __future__ import annotations

import logging
import threading
from base64 import b64decode
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
import yaml
from tests.cluster import binaries
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.integration.driver_process import kubeconfig
from tests.integration.played import manifest
from tests.wait import eventually

from collectorfleet.pod import access
from collectorfleet.pod.reporter import Reporter
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.run.endings import EndReason
from collectorfleet.run.stop import StopRequest
from collectorfleet.timeline.packed import unpack
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import DriverReport, Progress, WeightsStatus

pytestmark = pytest.mark.usefixtures("fleet_crd")


class Scripted:
    """What a session says, set by the test."""

    def __init__(self) -> None:
        self.now = DriverReport(weights=WeightsStatus(published=3, digest="sha256:abc"), progress=Progress(batches=3))
        self.wanted: list[tuple[int, int]] = []

    def report(self) -> DriverReport:
        return self.now

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int:
        threading.Event().wait(min(timeout_seconds, 0.1))
        return seen

    def resize(self, replicas: int, min_available: int) -> None:
        self.wanted.append((replicas, min_available))

    def drain_pods(self, pods: Collection[str]) -> None:
        raise AssertionError(f"nobody asks to drain {pods}")


@pytest.fixture
def fleet(control_plane: ControlPlane, namespace: str) -> Object:
    control_plane.apply(manifest(replicas=2), namespace)
    return control_plane.get("cfleet/fleet", namespace)


@pytest.fixture
def stop() -> Iterator[StopRequest]:
    request = StopRequest()
    yield request
    request.run_ended()


@pytest.fixture
def reporter(
    control_plane: ControlPlane,
    fleet: Object,
    stop: StopRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Reporter:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(control_plane, fleet, tmp_path)))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    metadata = fleet["metadata"]
    return Reporter(
        DriverSettings(metadata["namespace"], metadata["name"], metadata["uid"], "pod-1", fleet["spec"], "-"), stop
    )


def test_a_fleet_has_a_true_status_before_its_collectors_exist(
    control_plane: ControlPlane, namespace: str, fleet: Object, reporter: Reporter
) -> None:
    with reporter:
        assert reporter.fleet().metadata.uid == fleet["metadata"]["uid"]
        told = control_plane.wait_for(
            "cfleet/fleet", lambda f: f["status"]["fleetUID"] == fleet["metadata"]["uid"], namespace, within=10
        )
    counts = told["status"]["progress"]["collectors"]
    assert counts == {"desired": 2, "available": 0, "restarts": 0, "summary": "0/2", "groups": []}
    assert "weights" not in told["status"]


def test_the_last_report_is_written_before_the_driver_ends(
    control_plane: ControlPlane, namespace: str, reporter: Reporter
) -> None:
    session = Scripted()
    with reporter:
        reporter.fleet()
        reporter.attach(session)
        control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["progress"]["batches"] == 3, namespace)
        session.now = DriverReport(progress=Progress(batches=4))
    assert control_plane.get("cfleet/fleet", namespace)["status"]["progress"]["batches"] == 4


def test_a_driver_that_reports_no_metrics_yet_takes_the_place_of_one_that_did(
    control_plane: ControlPlane, namespace: str, reporter: Reporter
) -> None:
    session = Scripted()
    session.now = DriverReport(progress=Progress(batches=3, metrics={"reward": 1.0}))
    with reporter:
        reporter.fleet()
        reporter.attach(session)
        control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["progress"]["metrics"] == {"reward": 1}, namespace)
        session.now = DriverReport(progress=Progress(batches=4))
        told = control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["progress"]["batches"] == 4, namespace)
    assert "metrics" not in told["status"]["progress"]


def test_a_timeline_is_stored_while_the_run_goes_on_and_the_next_driver_goes_on_in_it(
    control_plane: ControlPlane, namespace: str, fleet: Object, reporter: Reporter, stop: StopRequest
) -> None:
    def stored() -> Timeline | None:
        found = control_plane.get("configmap/fleet-timeline", namespace)
        packed = found.get("binaryData", {}).get(names.TIMELINE_KEY)
        return packed and unpack(b64decode(packed))

    early, late = (Timeline(fleet="fleet", began=1.0, times=[2.0], series={"frames": [n]}) for n in (100.0, 200.0))
    with reporter:
        reporter.fleet()
        assert reporter.timeline_before is None
        reporter.keep_timeline(early)
        eventually(stored, until=lambda found: found == early, within=60, what="the timeline of a run that goes on")
        reporter.keep_timeline(late)
    assert stored() == late

    metadata = fleet["metadata"]
    settings = DriverSettings(metadata["namespace"], metadata["name"], metadata["uid"], "pod-2", fleet["spec"], "-")
    with Reporter(settings, stop) as after:
        after.fleet()
        assert after.timeline_before == late


def test_scaling_reaches_a_quiet_run(control_plane: ControlPlane, namespace: str, reporter: Reporter) -> None:
    session = Scripted()
    with reporter:
        reporter.fleet()
        reporter.attach(session)
        control_plane.kubectl("scale", "cfleet/fleet", "--replicas=5", "-n", namespace)
        eventually(lambda: session.wanted, until=lambda seen: seen == [(5, 1)], within=60, what="resized once, to 5")
        change = '{"spec":{"collectors":{"minAvailable":4}}}'
        control_plane.kubectl("patch", "cfleet/fleet", "-n", namespace, "--type=merge", "-p", change)
        eventually(lambda: session.wanted[1:], until=lambda seen: seen == [(5, 4)], within=60, what="minAvailable 4")


def test_a_crd_that_is_older_than_the_driver_costs_one_field_and_one_line(
    control_plane: ControlPlane, namespace: str, reporter: Reporter, caplog: pytest.LogCaptureFixture
) -> None:
    session = Scripted()
    older = yaml.safe_load((binaries.ROOT / "crds/collectorfleets.yaml").read_text())
    status = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    del status["properties"]["weights"]["properties"]["digest"]
    control_plane.apply(older)
    try:
        with caplog.at_level(logging.WARNING, "collectorfleet"), reporter:
            reporter.fleet()
            reporter.attach(session)
            # The API server uses a changed CRD only some time after it has stored the CRD.
            control_plane.wait_for(
                "cfleet/fleet",
                lambda f: f["status"]["weights"]["published"] == 3 and "digest" not in f["status"]["weights"],
                namespace,
            )
            session.now = session.now.model_copy(update={"progress": Progress(batches=9)})
            control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["progress"]["batches"] == 9, namespace)
    finally:
        control_plane.apply_crds(binaries.ROOT / "crds")
    assert [r.message for r in caplog.records if "digest" in r.message] == [
        "the installed CRD does not know status.weights.digest, so reports omit it; update the CRD"
    ]


def test_a_driver_whose_fleet_is_deleted_is_asked_to_stop(
    control_plane: ControlPlane, namespace: str, reporter: Reporter, stop: StopRequest
) -> None:
    with reporter:
        reporter.fleet()
        reporter.attach(Scripted())
        control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["progress"]["batches"] == 3, namespace)
        # Without its children, so that the driver's rights outlive the fleet for as long as the test looks.
        control_plane.kubectl("delete", "cfleet/fleet", "-n", namespace, "--cascade=orphan")
        eventually(lambda: stop.reason, within=60, what="a request to stop")
    assert stop.reason is not None
    assert stop.reason.text == f"fleet {namespace}/fleet was deleted"


def test_a_driver_whose_service_account_was_deleted_ends_at_the_end_of_its_batch(
    control_plane: ControlPlane,
    namespace: str,
    reporter: Reporter,
    stop: StopRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access, "VOID_SECONDS", 3.0)
    with reporter:
        reporter.fleet()
        reporter.attach(Scripted())
        control_plane.kubectl("delete", "serviceaccount/fleet-driver", "-n", namespace)
        eventually(lambda: stop.reason, within=40, what="a request to stop")
    assert stop.reason is not None
    assert "no longer accepts this driver's token" in stop.reason.text
    assert stop.reason.way is EndReason.ACCESS_REFUSED
