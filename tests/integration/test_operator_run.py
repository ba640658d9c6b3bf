"""A fleet's life as the operator sees it: made at once, true while it runs, over when the driver is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Component
from tests.integration import played
from tests.integration.played import Pods, manifest, message, told
from tests.wait import eventually

from collectorfleet_api import names
from collectorfleet_operator.children.group_sizes import worker_groups

CHILDREN = "raycluster,job,serviceaccount,role,rolebinding,lease,configmap"
ALL_CHILDREN = [
    "ConfigMap/fleet-timeline",
    "Job/fleet-driver",
    "Lease/fleet-driver",
    "RayCluster/fleet",
    "Role/fleet-driver",
    "RoleBinding/fleet-driver",
    "ServiceAccount/fleet-driver",
]


@dataclass(frozen=True)
class Timelines:
    """The ConfigMaps of two fleets: ``kept`` has a timeline, and the one with ``deleted`` as its uid was deleted."""

    plane: ControlPlane
    namespace: str
    kept: Object
    deleted: str

    def of(self, fleet: str) -> Object | None:
        return self.plane.find(f"configmap/{names.timeline_name(fleet)}", self.namespace)


@pytest.fixture(scope="module")
def timelines(control_plane: ControlPlane, fleet_operator: Component) -> Iterator[Timelines]:
    """Nobody watches ConfigMaps. Until the operator lists them, the other tests of this file run."""
    with control_plane.temporary_namespace("timelines") as namespace:
        made = {}
        for name in ("kept", "lost"):
            control_plane.apply(manifest(name), namespace)
            target = f"configmap/{names.timeline_name(name)}"
            made[name] = control_plane.wait_for(target, lambda _: True, namespace)
        content = json.dumps({"binaryData": {names.TIMELINE_KEY: "H4sI"}})
        control_plane.kubectl("patch", "configmap/kept-timeline", "-n", namespace, "--type=merge", "-p", content)
        kept = control_plane.get("configmap/kept-timeline", namespace)
        control_plane.delete("configmap/lost-timeline", namespace)
        yield Timelines(control_plane, namespace, kept, deleted=made["lost"]["metadata"]["uid"])


pytestmark = pytest.mark.usefixtures("timelines")


def named(plane: ControlPlane, kinds: str, namespace: str, prefix: str = "fleet") -> list[str]:
    found = plane.items(kinds, namespace)
    return [f"{o['kind']}/{o['metadata']['name']}" for o in found if o["metadata"]["name"].startswith(prefix)]


def worker_group(plane: ControlPlane, namespace: str) -> Object:
    return worker_groups(plane.get("raycluster/fleet", namespace))[names.WORKER_GROUP]


def test_a_fleet_becomes_all_its_children_and_deleting_it_leaves_nothing(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.apply(manifest(replicas=2), namespace)
    pods = Pods(control_plane, namespace)
    pods.wait("head", 1)
    pods.wait("worker", 2)
    pods.wait("driver", 1)
    # The operator creates the driver's Job and its other children at the same time.
    eventually(
        lambda: sorted(named(control_plane, CHILDREN, namespace)),
        until=lambda found: found == ALL_CHILDREN,
        within=30,
        what=f"the children {ALL_CHILDREN}",
    )
    control_plane.delete("cfleet/fleet", namespace)
    eventually(
        lambda: named(control_plane, f"{CHILDREN},pods,secrets", namespace),
        until=lambda left: not left,
        within=120,  # the garbage collector looks for new kinds every 30 s
        what="children gone",
    )


def test_the_users_object_gets_a_status_and_nothing_else(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(), namespace)
    seen = control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["observedGeneration"] == 1, namespace)
    assert "finalizers" not in seen["metadata"]
    assert "annotations" not in seen["metadata"]
    writers = control_plane.kubectl("get", "cfleet/fleet", "-n", namespace, "--show-managed-fields", "-o", "json")
    assert writers.count('"manager": "collectorfleet-operator"') == 1
    assert seen["metadata"]["generation"] == 1


def test_ready_follows_the_collectors_and_the_end_frees_the_cluster(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.apply(manifest(replicas=2), namespace)
    pods = Pods(control_plane, namespace)
    pods.run("head", 1)
    pods.run("worker", 2)
    control_plane.wait_for("cfleet/fleet", "RayClusterReady", namespace)
    pods.run("driver", 1)
    control_plane.wait_for("cfleet/fleet", "DriverRunning", namespace)
    played.report(control_plane, namespace, available=2)
    fleet = control_plane.wait_for("cfleet/fleet", "Ready", namespace)
    assert fleet["status"]["phase"] == "Collecting"
    assert fleet["status"]["replicas"] == 2
    assert told(fleet, "Reconciling") == ("False", "AllAvailable")
    assert control_plane.get("cfleet/fleet", namespace)["status"]["weights"]["published"] == 3

    pods.end(pods.of("driver")[0], 0)
    done = control_plane.wait_for("cfleet/fleet", "Completed", namespace)
    assert told(done, "Ready") == ("True", "Completed")
    assert done["status"]["phase"] == "Completed"
    assert done["status"]["weights"]["published"] == 3
    control_plane.wait_gone("raycluster/fleet", namespace)
    assert control_plane.find("job/fleet-driver", namespace) is not None

    def reasons() -> set[str]:
        events = control_plane.items("events", namespace)
        return {e["reason"] for e in events if e["involvedObject"]["kind"] == "CollectorFleet"}

    # The operator deletes the RayCluster before it writes the Event about that.
    expected = {"Created", "RayClusterReady", "DriverRunning", "CollectorsAvailable", "Completed", "Deleted"}
    eventually(reasons, until=lambda found: found == expected, within=30, what=f"Events with the reasons {expected}")


def test_worker_pods_follow_replicas_up_and_down(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(replicas=2), namespace)
    pods = Pods(control_plane, namespace)
    pods.run("head", 1)
    pods.run("worker", 2)
    pods.run("driver", 1)
    played.report(control_plane, namespace, available=2)
    control_plane.wait_for("cfleet/fleet", "Ready", namespace)

    control_plane.kubectl("scale", "cfleet/fleet", "--replicas=3", "-n", namespace)
    pods.run("worker", 3)
    played.report(control_plane, namespace, available=3)
    control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["replicas"] == 3, namespace)

    control_plane.kubectl("scale", "cfleet/fleet", "--replicas=1", "-n", namespace)
    control_plane.wait_for("cfleet/fleet", lambda f: f["status"]["observedGeneration"] == 3, namespace)
    # The driver still counts on three.
    assert worker_group(control_plane, namespace)["replicas"] == 3
    kept, *going = (pod["metadata"]["name"] for pod in pods.of("worker"))
    rows = [{"name": "c0", "state": "Ready", "pod": kept}]
    rows += [{"name": f"c{i}", "state": "Retired", "pod": pod} for i, pod in enumerate(going, start=1)]
    played.report(control_plane, namespace, available=1, collectors=rows)
    (left,) = pods.wait("worker", 1)
    assert left["metadata"]["name"] == kept
    eventually(
        lambda: worker_group(control_plane, namespace).get("scaleStrategy"),
        until=lambda strategy: not strategy,
        within=60,
        what="names of deleted pods cleared",
    )
    assert worker_group(control_plane, namespace)["replicas"] == 1


def test_two_fleets_of_one_name_in_two_namespaces_do_not_meet(control_plane: ControlPlane, namespace: str) -> None:
    with control_plane.temporary_namespace("other") as other:
        for where in (namespace, other):
            control_plane.apply(manifest(replicas=1), where)
            pods = Pods(control_plane, where)
            pods.run("head", 1)
            pods.run("worker", 1)
            pods.run("driver", 1)
            played.report(control_plane, where, available=1)
            control_plane.wait_for("cfleet/fleet", "Ready", where)
        Pods(control_plane, other).hold_up("worker", "ErrImagePull", "not found")
        control_plane.wait_for("cfleet/fleet", lambda f: told(f, "RayClusterReady")[0] == "False", other)
        control_plane.delete("cfleet/fleet", other)
        control_plane.wait_gone("raycluster/fleet", other)
        here = control_plane.get("cfleet/fleet", namespace)
        assert told(here, "Ready")[0] == told(here, "RayClusterReady")[0] == "True"
        assert len(Pods(control_plane, namespace).of("worker")) == 1


def test_a_fleet_made_again_under_its_name_starts_afresh(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(replicas=1), namespace)
    pods = Pods(control_plane, namespace)
    pods.run("head", 1)
    pods.run("driver", 1)
    control_plane.delete("cfleet/fleet", namespace)
    control_plane.apply(manifest(replicas=1), namespace)

    def of_the_new_one() -> list[str]:
        uid = control_plane.get("cfleet/fleet", namespace)["metadata"]["uid"]
        found = control_plane.items(CHILDREN, namespace)
        owned = [o for o in found if any(owner["uid"] == uid for owner in o["metadata"].get("ownerReferences") or ())]
        return sorted(f"{o['kind']}/{o['metadata']['name']}" for o in owned)

    # In any order: each child waits for the garbage collector to remove the old one of its name.
    eventually(
        of_the_new_one,
        until=lambda found: found == ALL_CHILDREN,
        within=90,
        what=f"the children {ALL_CHILDREN} of the new fleet",
    )
    pods.wait("head", 1)
    pods.wait("driver", 1)


def test_a_corrected_manifest_replaces_a_run_that_never_delivered_a_batch(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.apply(manifest(replicas=1, image="test.local/flet:1"), namespace)
    pods = Pods(control_plane, namespace)
    pods.wait("driver", 1)
    pods.wait("head", 1)
    control_plane.apply(manifest(replicas=1, image="test.local/fleet:1"), namespace)

    def images() -> set[str]:
        return {one["spec"]["containers"][0]["image"] for role in ("head", "worker", "driver") for one in pods.of(role)}

    eventually(images, until=lambda found: found == {"test.local/fleet:1"}, within=60, what="pods of the right image")
    text = "it has delivered no batch, and generation 2 of the spec starts another try"
    eventually(
        lambda: [e["message"] for e in control_plane.items("events", namespace)],
        until=lambda messages: any(text in one for one in messages),
        within=30,
        what=f"an Event: {text}",
    )


def test_what_a_run_needs_is_made_again_while_its_changed_spec_is_held(
    control_plane: ControlPlane, namespace: str
) -> None:
    played.start(control_plane, namespace)
    control_plane.apply(manifest(replicas=1, image="test.local/fleet:2"), namespace)
    control_plane.wait_for("cfleet/fleet", lambda f: told(f, "UpToDate")[1] == "RestartNeeded", namespace)
    old = control_plane.get("role/fleet-driver", namespace)["metadata"]["uid"]
    control_plane.delete("role/fleet-driver", namespace)
    control_plane.delete("raycluster/fleet", namespace)

    def uid(name: str) -> str:
        found = control_plane.find(name, namespace)
        return str(found["metadata"]["uid"]) if found else ""

    eventually(
        lambda: uid("role/fleet-driver"), until=lambda now: now not in ("", old), within=60, what="the Role again"
    )
    again = eventually(
        lambda: control_plane.find("raycluster/fleet", namespace),
        until=lambda one: one is not None and "deletionTimestamp" not in one["metadata"],
        within=60,
        what="the RayCluster again",
    )
    head = again["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    assert head["image"] == manifest(replicas=1)["spec"]["image"]


def test_a_changed_spec_waits_for_a_running_driver_and_starts_when_its_job_is_deleted(
    control_plane: ControlPlane, namespace: str
) -> None:
    pods, _ = played.start(control_plane, namespace)
    control_plane.apply(manifest(replicas=1, image="test.local/fleet:2"), namespace)
    held = control_plane.wait_for("cfleet/fleet", lambda f: told(f, "UpToDate")[1] == "RestartNeeded", namespace)
    assert told(held, "Ready")[0] == "True"

    control_plane.delete("job/fleet-driver", namespace)

    def image(role: str) -> str:
        found = pods.of(role)
        return str(found[0]["spec"]["containers"][0]["image"]) if found else ""

    for role in ("head", "worker", "driver"):
        eventually(
            lambda role=role: image(role), until=lambda found: found.endswith(":2"), within=60, what=f"new {role}"
        )


def test_a_timeline_that_was_deleted_gets_a_place_again_and_another_is_left_as_it_is(timelines: Timelines) -> None:
    eventually(
        lambda: timelines.of("lost"),
        until=lambda now: now is not None and now["metadata"]["uid"] != timelines.deleted,
        within=60,  # all is listed every 30 s
        what="made again",
    )
    assert timelines.of("kept") == timelines.kept


def test_a_fleet_is_kept_apart_while_it_asks_for_that(control_plane: ControlPlane, namespace: str) -> None:
    prometheus = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    control_plane.apply(manifest(networkPolicy={"metricsFrom": [prometheus], "egress": []}), namespace)
    Pods(control_plane, namespace).wait("head", 1)
    made = control_plane.get("networkpolicy/fleet", namespace)["spec"]
    assert (made["policyTypes"], len(made["ingress"]), len(made["egress"])) == (["Ingress", "Egress"], 2, 2)
    # A rule with nothing in it lets in everybody, and a direction that is not named lets everybody through.
    control_plane.apply(manifest(networkPolicy={"ingress": [{}]}), namespace)
    control_plane.wait_for("networkpolicy/fleet", lambda p: p["spec"]["policyTypes"] == ["Ingress"], namespace)
    assert {} in control_plane.get("networkpolicy/fleet", namespace)["spec"]["ingress"]
    control_plane.apply(manifest(), namespace)
    control_plane.wait_gone("networkpolicy/fleet", namespace)


def test_a_policy_that_kubernetes_does_not_take_keeps_pods_from_being_made(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.apply(manifest(networkPolicy={"metricsFrom": [{"ipBlock": {"cidr": "here"}}]}), namespace)
    seen = control_plane.wait_for("cfleet/fleet", "Stalled", namespace)
    assert "networkpolicies" in message(seen, "Ready") or "NetworkPolicy" in message(seen, "Ready")
    assert control_plane.items("pods,jobs,rayclusters", namespace) == []
