"""The facts that are read from a stored pod."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from collectorfleet_operator.decide.pod import Exit, Pod, read_pod

CREATED = "2026-07-01T12:00:00Z"
BEGAN = "2026-07-01T12:00:10Z"
TURNED = "2026-07-01T12:00:40Z"
NODE_GONE = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
DELETED = {"deletionTimestamp": "2026-07-01T12:01:00Z", "deletionGracePeriodSeconds": 30}


def pod(status: dict[str, Any], **metadata: Any) -> Pod:
    return read_pod({"metadata": {"name": "p", "uid": "1", "creationTimestamp": CREATED, **metadata}, "status": status})


def running(*, ready: bool = True, began: str = BEGAN) -> dict[str, Any]:
    return {"name": "ray-worker", "ready": ready, "state": {"running": {"startedAt": began}}}


def ended(name: str, code: int, **said: Any) -> dict[str, Any]:
    return {"name": name, "state": {"terminated": {"exitCode": code, **said}}}


def unready(turned: str = TURNED, **said: Any) -> dict[str, Any]:
    return {"type": "Ready", "status": "False", "lastTransitionTime": turned, **said}


@pytest.mark.parametrize(
    ("condition", "metadata", "is_lost"),
    [
        (NODE_GONE, DELETED, True),
        (NODE_GONE, {}, False),
        ({**NODE_GONE, "status": "False"}, DELETED, False),
        ({**NODE_GONE, "reason": "EvictionByEvictionAPI"}, DELETED, False),
        ({**NODE_GONE, "type": "PodScheduled"}, DELETED, False),
    ],
    ids=["its node", "not deleted", "not true", "evicted by a drain", "another condition"],
)
def test_only_a_pod_that_kubernetes_deletes_for_its_node_is_lost_with_it(
    condition: dict[str, Any], metadata: dict[str, Any], is_lost: bool
) -> None:
    assert pod({"conditions": [condition]}, **metadata).is_lost_with_node is is_lost


@pytest.mark.parametrize(
    ("status", "is_silent"),
    [
        ({"conditions": [unready()], "containerStatuses": [running()]}, True),
        ({"conditions": [unready()], "containerStatuses": [running(), running()]}, True),
        ({"conditions": [unready()], "containerStatuses": [running(), running(ready=False)]}, False),
        ({"conditions": [unready()], "containerStatuses": []}, False),
        ({"conditions": [unready(reason="ReadinessGatesNotReady")], "containerStatuses": [running()]}, False),
        ({"conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [running()]}, False),
    ],
    ids=["one container", "two", "one of two is unready", "none", "waits for a gate", "ready"],
)
def test_a_node_is_silent_if_only_kubernetes_calls_its_pod_unready(status: dict[str, Any], is_silent: bool) -> None:
    assert pod(status).is_node_silent is is_silent


@pytest.mark.parametrize(
    ("status", "never"),
    [
        ({"conditions": [unready(TURNED)], "containerStatuses": [running()]}, False),
        ({"conditions": [unready(BEGAN)], "containerStatuses": [running()]}, True),
        ({"conditions": [unready(TURNED)], "containerStatuses": [running(), running(began=TURNED)]}, True),
        ({"conditions": [unready(TURNED)], "containerStatuses": [running(), ended("sidecar", 0)]}, True),
        ({"conditions": [unready(TURNED)], "containerStatuses": []}, True),
        ({"conditions": [], "containerStatuses": [running()]}, True),
        ({"conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [running()]}, False),
    ],
    ids=["was ready", "never", "not since the last began", "one does not run", "none runs", "nobody says", "is ready"],
)
def test_a_pod_was_never_ready_if_it_turned_unready_no_later_than_it_began(status: dict[str, Any], never: bool) -> None:
    assert pod(status).was_never_ready is never


def test_each_container_that_ended_has_its_code_reason_and_message() -> None:
    found = pod(
        {
            "initContainerStatuses": [ended("code", 0, reason="Completed", finishedAt=BEGAN)],
            "containerStatuses": [ended("driver", 64, reason="Error", message="no such game"), running()],
        }
    )
    assert found.exits == {"code": Exit(0, "Completed", ""), "driver": Exit(64, "Error", "no such game")}
    assert found.ended == {"code": datetime(2026, 7, 1, 12, 0, 10, tzinfo=UTC), "driver": None}
    assert found.began == {"ray-worker": datetime(2026, 7, 1, 12, 0, 10, tzinfo=UTC)}


def test_a_pod_goes_on_for_its_containers_and_not_for_those_before_them() -> None:
    containers = {"initContainerStatuses": [{"name": "code"}], "containerStatuses": [running(), ended("driver", 0)]}
    assert pod({"phase": "Running", **containers}).running_containers == ("ray-worker",)
    assert pod({"phase": "Failed", **containers}).running_containers == ()
    assert pod({"phase": "Succeeded", **containers}).running_containers == ()


@pytest.mark.parametrize(
    ("code", "phase", "by_driver"),
    [(0, "Running", "Succeeded"), (64, "Running", "Failed"), (None, "Running", "Running")],
)
def test_a_driver_that_ended_is_over_whatever_its_sidecars_do(code: int | None, phase: str, by_driver: str) -> None:
    statuses = [running()] if code is None else [running(), ended("driver", code)]
    found = pod({"phase": phase, "containerStatuses": statuses})
    assert found.phase_by("driver") == by_driver
    assert not found.is_over


@pytest.mark.parametrize(
    ("phase", "is_over"), [("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True)]
)
def test_a_pod_is_over_once_all_of_it_is(phase: str, is_over: bool) -> None:
    assert pod({"phase": phase}).is_over is is_over


def test_what_nobody_says_of_a_new_pod_is_as_kubernetes_begins() -> None:
    found = read_pod({"metadata": {"name": "p", "uid": "1", "creationTimestamp": CREATED}})
    assert (found.phase, found.node, found.role, found.group, found.index) == ("Pending", "?", "", "", "")
    assert (found.grace_seconds, found.has_no_grace, found.is_terminating) == (0, False, False)
    assert found.created_text == CREATED


@pytest.mark.parametrize(("grace", "none"), [(0, True), (1, False), (30, False)])
def test_only_a_deletion_without_any_grace_has_none(grace: int, none: bool) -> None:
    found = pod({}, **{**DELETED, "deletionGracePeriodSeconds": grace})
    assert (found.grace_seconds, found.has_no_grace, found.is_terminating) == (grace, none, True)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"reason": "Evicted", "message": "low on memory"}, "low on memory"),
        ({"message": "a word without a reason"}, ""),
        ({"reason": "Evicted"}, ""),
    ],
    ids=["both", "no reason", "no message"],
)
def test_the_kubelet_ended_a_pod_if_it_says_why_by_a_reason(said: dict[str, str], message: str) -> None:
    assert pod({"phase": "Failed", **said}).kubelet_message == message
