"""Fleets in a queue of a real Kueue: they wait for quota, train, make room, and go on where they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from tests.cluster.client import Client, Object, condition
from tests.cluster.cluster import Cluster
from tests.combinations.parts import JOB
from tests.e2e import fleets
from tests.fleet_status import batches, is_in_step
from tests.manifests import changed
from tests.queues import kueue
from tests.wait import eventually

from collectorfleet_api import names

pytestmark = pytest.mark.timeout(1500)

FRAMES = 200
START_SECONDS = 420  # of a fleet, on a machine that has other things to do


@dataclass(frozen=True)
class Launched:
    """Fleets of one collector, by what holds it; ``one_and_a_half`` is memory for one of them and not for two."""

    changes: Mapping[str, Any]
    pods: int
    one_and_a_half: str

    def queued(self, name: str, *, priority: str = "", **fields: Any) -> Object:
        made = changed(fleets.fleet(name, **fields), dict(self.changes))
        made["metadata"]["labels"] = {names.QUEUE_LABEL: "team"}
        if priority:
            made["metadata"]["labels"][names.PRIORITY_LABEL] = priority
        return made


ON_RAY = Launched({}, pods=3, one_and_a_half="9Gi")  # with a head


@pytest.fixture(
    params=[
        pytest.param(ON_RAY, id="RayCluster"),
        pytest.param(Launched(JOB, pods=2, one_and_a_half="5500Mi"), id="Job"),
    ]
)
def launched(request: pytest.FixtureRequest) -> Launched:
    found: Launched = request.param
    return found


def told(cluster: Client, namespace: str, name: str, type_: str = "Admitted") -> tuple[str, str, str]:
    found = condition(cluster.get(f"cfleet/{name}", namespace), type_) or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def is_admitted(cluster: Client, namespace: str, name: str) -> bool:
    """By Kueue's own word."""
    return (condition(cluster.get(f"workload/{name}", namespace), "Admitted") or {}).get("status") == "True"


def pods_of(cluster: Client, namespace: str, name: str) -> list[str]:
    found = cluster.items("pods", namespace, f"{names.FLEET_LABEL}={name}")
    return [one["metadata"]["name"] for one in found if one["status"].get("phase") not in ("Succeeded", "Failed")]


def test_of_two_fleets_on_quota_for_one_and_a_half_one_trains_and_one_waits_whole(
    cluster: Cluster, namespace: str, launched: Launched
) -> None:
    kueue.add_queue(cluster, namespace, launched.one_and_a_half)
    pair = ("one", "two")
    kwargs = {"batches": 60}
    cluster.apply([fleets.code(), *(launched.queued(name, frames=FRAMES, kwargs=kwargs) for name in pair)], namespace)

    def some_admitted() -> list[str]:
        return [name for name in pair if told(cluster, namespace, name)[0] == "True"]

    (first,) = eventually(some_admitted, until=bool, within=60, what="a fleet is admitted")
    (second,) = set(pair) - {first}
    waits = eventually(
        lambda: told(cluster, namespace, second), until=lambda it: "quota" in it[2], within=30, what="Kueue's words"
    )
    assert waits[:2] == ("False", "WaitingForQuota")
    assert "memory" in waits[2]

    # The first trains; at no moment has the second anything of it but its Workload.
    def looked() -> bool:
        made = cluster.items("pods,jobs,rayclusters", namespace, f"{names.FLEET_LABEL}={second}")
        # Asked for after what there is: nothing is made before it is admitted.
        if not is_admitted(cluster, namespace, second):
            assert made == []
            return False
        assert pods_of(cluster, namespace, first) == []
        return True

    eventually(looked, within=START_SECONDS, what="the second fleet's turn", tolerate=())
    assert told(cluster, namespace, first, "Completed")[0] == "True"
    workloads = [one["metadata"]["name"] for one in cluster.items("workloads", namespace)]
    assert workloads == [second], "what is done holds no quota"
    eventually(
        lambda: len(pods_of(cluster, namespace, second)),
        until=lambda count: count == launched.pods,
        within=60,
        what="all pods",
    )
    for pod in cluster.items("pods", namespace, f"{names.FLEET_LABEL}={second}"):
        assert pod["spec"]["nodeSelector"] == kueue.FLAVOR_LABELS


def test_a_fleet_that_is_preempted_writes_its_checkpoint_first_and_goes_on_from_it(
    cluster: Cluster, namespace: str, claim: str, launched: Launched
) -> None:
    kueue.add_queue(cluster, namespace, launched.one_and_a_half)
    low = launched.queued("low", priority="low", train="workload:train_and_keep", frames=FRAMES)
    # Seldom enough that only the order to end has one written.
    low["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 3600}
    cluster.apply([fleets.code(), low], namespace)
    cluster.wait_for("cfleet/low", lambda f: f["status"]["progress"]["batches"] >= 3, namespace, within=START_SECONDS)

    # More than there is quota for: what runs goes on, and the status says what would have to be done.
    job = cluster.get("job/low-driver", namespace)
    cluster.kubectl("scale", "-n", namespace, "cfleet/low", "--replicas=4")
    eventually(
        lambda: told(cluster, namespace, "low")[1], until=lambda it: it == "AdmittedForFewer", within=30, what="reason"
    )
    assert "admitted by ClusterQueue" in told(cluster, namespace, "low")[2]
    assert cluster.get("job/low-driver", namespace)["metadata"]["uid"] == job["metadata"]["uid"]
    cluster.kubectl("scale", "-n", namespace, "cfleet/low", "--replicas=1")
    eventually(lambda: told(cluster, namespace, "low")[1], until=lambda it: it == "Admitted", within=30, what="reason")

    cluster.apply(launched.queued("high", priority="high", frames=FRAMES), namespace)
    # Kueue has chosen by then, and the quota is still that of the driver which ends.
    cluster.wait_for("cfleet/high", lambda f: condition(f, "Admitted") is not None, namespace, within=30)

    def change() -> tuple[bool, bool]:
        # In this order: once the other has pods, this one has none any more.
        high = bool(pods_of(cluster, namespace, "high"))
        low = bool(pods_of(cluster, namespace, "low"))
        assert not (low and high), "both hold pods"
        return low, high

    is_turn = (False, True)
    eventually(change, until=lambda both: both == is_turn, within=180, what="the higher priority's turn", tolerate=())
    status = cluster.get("cfleet/low", namespace)["status"]
    before = status["progress"]["framesDelivered"]
    assert status["checkpoint"]["frames"] == before > 0
    eventually(
        lambda: told(cluster, namespace, "low")[1], until=lambda it: it == "WaitingForQuota", within=30, what="reason"
    )

    cluster.delete("cfleet/high", namespace)
    resumes_without_a_loss(cluster, namespace, before)


def resumes_without_a_loss(cluster: Client, namespace: str, before: int) -> None:
    """Wait until the fleet ``low`` trains again, after ``before`` frames, and assert that each frame counts once."""

    def went_on(found: Object) -> bool:
        progress = found["status"]["progress"]
        is_next = progress["framesDelivered"] > before and progress["metrics"].get("resumed") == 1
        return bool(is_next and is_in_step(found))

    progress = cluster.wait_for("cfleet/low", went_on, namespace, within=START_SECONDS)["status"]["progress"]
    assert progress["framesLost"] == 0
    assert progress["framesDelivered"] == progress["batches"] * FRAMES


def driver_runs(cluster: Client, namespace: str, name: str) -> bool:
    pods = cluster.items("pods", namespace, f"{names.FLEET_LABEL}={name},{names.ROLE_LABEL}=driver")
    return any("running" in one["state"] for pod in pods for one in pod["status"].get("containerStatuses", []))


@pytest.mark.parametrize("deadline", [600, 10], ids=["in time", "gets SIGTERM meanwhile"])
def test_a_preempted_fleet_keeps_its_ray_cluster_until_a_slow_checkpoint_is_whole(
    cluster: Cluster, namespace: str, claim: str, deadline: int
) -> None:
    """The checkpoint needs the Ray head after 20 s, as a checkpoint with learners needs their pods."""
    kueue.add_queue(cluster, namespace, ON_RAY.one_and_a_half)
    train, kwargs = "workload:train_and_keep_on_head", {"seconds": 20}
    low = ON_RAY.queued("low", priority="low", train=train, kwargs=kwargs, frames=FRAMES)
    # Seldom enough that only the order to end has one written.
    low["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 3600}
    low["spec"]["progressDeadlineSeconds"] = deadline
    cluster.apply([fleets.code(), low], namespace)
    cluster.wait_for("cfleet/low", lambda f: batches(f) >= 10, namespace, within=START_SECONDS)

    cluster.apply(ON_RAY.queued("high", priority="high", frames=FRAMES, kwargs={"batches": 3}), namespace)

    def is_preempted() -> bool:
        rayclusters = cluster.items("rayclusters", namespace, f"{names.FLEET_LABEL}=low")
        is_kept = any("deletionTimestamp" not in one["metadata"] for one in rayclusters)
        # Asked for after the RayCluster: the driver ends first.
        assert is_kept or not driver_runs(cluster, namespace, "low"), "the RayCluster ends before its driver"
        return not is_kept and not pods_of(cluster, namespace, "low")

    eventually(is_preempted, within=180, what="the lower priority has no pods", tolerate=())
    status = cluster.get("cfleet/low", namespace)["status"]
    before = status["progress"]["framesDelivered"]
    assert status["checkpoint"]["frames"] == before == status["progress"]["batches"] * FRAMES
    cluster.wait_for("cfleet/high", "Completed", namespace, within=START_SECONDS)
    resumes_without_a_loss(cluster, namespace, before)
