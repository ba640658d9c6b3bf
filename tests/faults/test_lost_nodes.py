"""A node that is lost, at Kubernetes' own defaults: whatever ran on it goes on elsewhere, by itself.

It is cut off by the network, or its kubelet stops and what it ran runs on, where nobody can see it. It comes back
before anything leaves it, or after.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.combinations.parts import JOB
from tests.e2e import fleets
from tests.faults.places import on
from tests.faults.table import Table
from tests.faults.waits import STARTED_WITHIN, another_runs, goes_on, running
from tests.manifests import changed
from tests.wait import eventually

FRAMES = 200
RAYCLUSTER, WITHOUT_RAY = "RayCluster", "Job"
ROLES = {RAYCLUSTER: ("worker", "driver", "head"), WITHOUT_RAY: ("worker", "driver")}
NODE = "node2"
# Kubernetes calls a silent node lost after 50 s, and our pods leave it 30 s later.
EVICTED_WITHIN = 150
# Longer than a kubelet takes to find out that its connection is back: up to half a minute.
PATIENCE_SECONDS = 300


def spread(claim: str, launcher: str, away: str, patience_seconds: int | None) -> Object:
    """A fleet of which the pods of the role ``away`` are on the second node."""
    fleet = fleets.fleet(train="workload:train_and_keep", frames=FRAMES)
    spec = fleet["spec"]
    place = {role: on(NODE if role == away else "node1", patience_seconds) for role in ROLES[launcher]}
    spec["driver"] |= {"checkpoint": {"claimName": claim, "everySeconds": 1}, "template": place["driver"]}
    spec["workers"] = {"template": place["worker"]}
    if launcher == WITHOUT_RAY:
        return changed(fleet, JOB)
    spec["ray"] = {"head": {"template": place["head"]}}
    return fleet


def start(
    cluster: Cluster, namespace: str, claim: str, launcher: str, away: str, patience_seconds: int | None = None
) -> tuple[Object, Object]:
    """Such a fleet, once it has something to lose, and its pod on the second node."""
    cluster.apply([fleets.code(), spread(claim, launcher, away, patience_seconds)], namespace)
    fleet = cluster.wait_for(
        "cfleet/fleet", lambda f: f["status"]["checkpoint"]["frames"] >= 3 * FRAMES, namespace, within=STARTED_WITHIN
    )
    [pod] = cluster.items("pods", namespace, f"collectorfleet.dev/role={away}")
    assert pod["spec"]["nodeName"] == NODE
    return fleet, pod


def of_fleet(event: Object) -> bool:
    return bool(event["involvedObject"]["kind"] == "CollectorFleet")


def told(cluster: Cluster, namespace: str, *words: str) -> bool:
    """Whether an event of the fleet has all the words."""
    said = [event["message"] for event in cluster.items("events", namespace) if of_fleet(event)]
    return any(all(word in one for word in words) for one in said)


def is_evicted(cluster: Cluster, namespace: str, pod: str) -> bool:
    found = cluster.find(f"pod/{pod}", namespace)
    return found is None or bool(found["metadata"].get("deletionTimestamp"))


def collected_by_all_there_are(cluster: Cluster, namespace: str) -> Callable[[Object], bool]:
    """Whether a batch was delivered since the newest pod was made: by a driver that ends it may be a moment before."""

    def collects(fleet: Object) -> bool:
        newest = max(pod["metadata"]["creationTimestamp"] for pod in cluster.items("pods", namespace))
        ready = (condition(fleet, "Ready") or {}).get("status") == "True"
        return ready and bool(fleet["status"]["progress"]["lastBatchTime"] > newest)

    return collects


class Loss:
    """A way to lose a node, and to have it back."""

    def __init__(self, cluster: Cluster, how: str) -> None:
        self.how = how
        self._cluster = cluster
        self._is_lost = False

    def lose(self) -> None:
        self._is_lost = True
        if self.how == CUT:
            self._cluster.cut(NODE)
        else:
            self._cluster.kill(f"{NODE}/kubelet")

    def back(self) -> None:
        """Undo it, and block until the node is Ready."""
        if not self._is_lost:
            return
        self._is_lost = False
        if self.how == CUT:
            self._cluster.heal(NODE)
        else:
            self._cluster.start(f"{NODE}/kubelet")
        self._cluster.wait_for(f"node/{NODE}", "Ready", within=120)


CUT, KUBELET = "cut by the network", "its kubelet stops"


@pytest.fixture
def loss(own_cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Loss]:
    """The node is back when the test is over."""
    made = Loss(own_cluster, request.param)
    yield made
    made.back()


def each_runs_once(cluster: Cluster, namespace: str, launcher: str) -> None:
    """Wait until each role has one running pod. The last batches may be of a driver that ends a moment later."""
    eventually(
        lambda: {role: len(running(cluster, namespace, role)) for role in ROLES[launcher]},
        until=lambda counts: set(counts.values()) == {1},
        within=120,
        what="one running pod of each role",
    )


@pytest.mark.parametrize(
    ("launcher", "role"), [(launcher, role) for launcher, roles in ROLES.items() for role in roles]
)
@pytest.mark.parametrize("loss", [CUT, KUBELET], indirect=True)
def test_what_ran_on_a_lost_node_goes_on_elsewhere_and_stays_there(
    own_cluster: Cluster, namespace: str, claim: str, loss: Loss, launcher: str, role: str, table: Table
) -> None:
    cluster = own_cluster
    before, pod = start(cluster, namespace, claim, launcher, away=role)
    name = pod["metadata"]["name"]
    loss.lose()
    lost = time.monotonic()
    eventually(lambda: is_evicted(cluster, namespace, name), within=EVICTED_WITHIN, what=f"{name} evicted")
    evicted = time.monotonic()
    eventually(lambda: told(cluster, namespace, name, NODE), within=60, what=f"an event that names {name} and {NODE}")
    # A driver without a kubelet continues. The operator waits for its grace period, because a slow kubelet may end it.
    cluster.wait_gone(f"pod/{name}", namespace, within=60 + pod["spec"]["terminationGracePeriodSeconds"])
    another_runs(cluster, namespace, role, name)
    after = cluster.wait_for("cfleet/fleet", collected_by_all_there_are(cluster, namespace), namespace, within=120)
    seconds = time.monotonic() - evicted
    assert after["status"]["progress"]["framesDelivered"] >= before["status"]["checkpoint"]["frames"]
    eventually(
        lambda: {p["spec"].get("nodeName") for p in cluster.items("pods", namespace)},
        until=lambda nodes: nodes == {"node1"},
        within=60,
        what="all pods on the other node",
    )

    loss.back()
    back = time.monotonic()
    eventually(lambda: not cluster.lives(pod), within=120, what=f"what is left of {name} ended")
    after = goes_on(cluster, namespace)
    each_runs_once(cluster, namespace, launcher)
    progress = after["status"]["progress"]
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    assert cluster.get("lease/fleet-driver", namespace)["spec"]["holderIdentity"] in running(
        cluster, namespace, "driver"
    )
    table.add((launcher, role), f"{loss.how}, for good", evicted - lost, seconds, time.monotonic() - back, after)


@pytest.mark.parametrize(
    ("loss", "launcher", "role"),
    [
        *((CUT, launcher, role) for launcher, roles in ROLES.items() for role in roles),
        (KUBELET, RAYCLUSTER, "driver"),
    ],
    indirect=["loss"],
)
def test_a_node_that_comes_back_before_its_pods_leave_it_keeps_them(
    own_cluster: Cluster, namespace: str, claim: str, loss: Loss, launcher: str, role: str, table: Table
) -> None:
    cluster = own_cluster
    _, pod = start(cluster, namespace, claim, launcher, away=role, patience_seconds=PATIENCE_SECONDS)
    loss.lose()
    cluster.wait_for(f"node/{NODE}", lambda node: (condition(node, "Ready") or {})["status"] == "Unknown", within=180)
    loss.back()
    back = time.monotonic()
    after = goes_on(cluster, namespace)
    each_runs_once(cluster, namespace, launcher)
    assert not told(cluster, namespace, "is lost")
    if role != "driver" or loss.how == KUBELET:
        # A driver that Ray has lost ends, and its Job makes another pod.
        assert running(cluster, namespace, role) == [pod["metadata"]["name"]]
    progress = after["status"]["progress"]
    assert progress["framesDelivered"] == progress["batches"] * FRAMES
    table.add((launcher, role), f"{loss.how}, back before the eviction", None, None, time.monotonic() - back, after)
