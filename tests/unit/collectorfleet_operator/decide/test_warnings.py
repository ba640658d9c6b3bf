"""Which warnings about a fleet's children are told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import NOON, later, running, told

from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.situation import Warned
from collectorfleet_operator.decide.warnings import fields_of_event, relevant
from collectorfleet_operator.objects import Object, uid_of


def warning(kind: str = "Pod", lasted: float = 60, ago: float = 5, **more: Any) -> Object:
    last = NOON - timedelta(seconds=ago)
    times = {"firstTimestamp": last - timedelta(seconds=lasted), "lastTimestamp": last}
    return {
        "involvedObject": {"kind": kind, "uid": "u"},
        "reason": "FailedMount",
        "message": "secret not found",
        **{key: time.isoformat().replace("+00:00", "Z") for key, time in times.items()},
        **more,
    }


def found(*events: Object) -> list[str]:
    return [one.reason for one in relevant(map(fields_of_event, events), NOON)]


def test_a_warning_that_goes_on_counts() -> None:
    assert found(warning()) == ["FailedMount"]


def test_a_warning_of_every_start_does_not_count() -> None:
    assert found(warning(lasted=1)) == []


@pytest.mark.parametrize(
    ("message", "lasted", "counts"),
    [
        pytest.param("Readiness probe failed: success", 40, False, id="a starting pod"),
        pytest.param("Readiness probe errored: deadline exceeded", 40, False, id="a slow probe of a starting pod"),
        pytest.param("Readiness probe failed: success", 80, True, id="a pod that does not become ready"),
        pytest.param("Liveness probe failed: success", 40, True, id="liveness"),
    ],
)
def test_a_failed_readiness_probe_counts_after_a_usual_start(message: str, lasted: float, counts: bool) -> None:
    assert bool(found(warning(lasted=lasted, reason="Unhealthy", message=message))) is counts


def test_a_warning_about_a_job_counts_at_once() -> None:
    assert found(warning("Job", lasted=0, reason="FailedCreate")) == ["FailedCreate"]


def test_an_old_warning_does_not_count() -> None:
    assert found(warning(ago=600)) == []


@pytest.mark.parametrize(
    ("kind", "lasted", "ago", "counts"),
    [
        pytest.param("RayCluster", 330, 500, True, id="KubeRay waits longer after each try"),
        pytest.param("RayCluster", 330, 700, False, id="KubeRay has made the pods since"),
        pytest.param("RayCluster", 30, 200, False, id="it lasted for a moment"),
        pytest.param("RayCluster", 9000, 1100, True, id="KubeRay's longest pause"),
        pytest.param("RayCluster", 9000, 1300, False, id="longer than any pause"),
        pytest.param("Job", 3000, 330, True, id="a client of the API server drops most events about one object"),
        pytest.param("Pod", 3000, 330, False, id="the kubelet"),
    ],
)
def test_a_warning_counts_until_its_next_repetition_is_overdue(
    kind: str, lasted: float, ago: float, counts: bool
) -> None:
    assert bool(found(warning(kind, lasted=lasted, ago=ago))) is counts


def test_a_warning_in_the_newer_form_of_events_has_its_time() -> None:
    newer = warning("RayCluster", eventTime="2026-07-01T11:59:58.000000Z", firstTimestamp=None, lastTimestamp=None)
    assert found(newer) == ["FailedMount"]


def test_the_newest_warning_comes_first() -> None:
    assert found(warning(ago=20, reason="Older"), warning(ago=2, reason="Newer")) == [
        "Newer",
        "Older",
    ]


def test_what_is_kept_of_a_warning_is_what_is_read_of_it() -> None:
    event = warning(
        metadata={"name": "cheetah.1", "managedFields": [{"fieldsV1": {}}]},
        source={"component": "kubelet"},
        series={"count": 7, "lastObservedTime": None},
    )
    kept = fields_of_event(event)
    assert relevant([kept], NOON) == relevant([event], NOON) != []
    assert not {"metadata", "source"} & kept.keys()


def test_what_kuberay_finds_made_already_counts_if_it_finds_so_again_and_again() -> None:
    message = 'Failed creating service default/c-head-svc, services "c-head-svc" already exists'
    once = warning("RayCluster", lasted=1, reason="FailedToCreateService", message=message)
    assert found(once) == []
    assert found({**once, "firstTimestamp": "2026-07-01T11:59:00Z"}) == ["FailedToCreateService"]


def test_a_warning_from_before_all_was_well_explains_nothing() -> None:
    world = running()
    uid = uid_of(world.get(RAYCLUSTER))
    early, late = (Warned(uid, "FailedCreate", f"at {at} s", later(at)) for at in (-40, 58))
    world.look(warnings=[early])
    world.collect(*world.pods("worker"))
    world.wait_until(60)
    # True until now, so that what was said is of before.
    assert told(world.look(world.now, warnings=[late]), "RayClusterReady")[1] == "WorkersStarting"
    assert told(world.look(world.now, warnings=[early]), "RayClusterReady")[1] == "WorkersStarting"
    # What is told a moment before its effect counts.
    assert told(world.look(world.now, warnings=[late, early]), "RayClusterReady")[1:] == ("FailedCreate", "at 58 s")
