"""The operator and the CRD are upgraded under a fleet of an older release, and then the fleet itself."""

from __future__ import annotations

from pathlib import Path

import yaml
from tests.cluster import thin_images
from tests.cluster.addons import OPERATOR, OPERATOR_NAMESPACE
from tests.cluster.client import Object, condition
from tests.cluster.cluster import Cluster
from tests.delivery.helm import CHARTS, Helm
from tests.e2e import fleets

FLEET = "cfleet/fleet"


def install_older(cluster: Cluster, older: Path) -> None:
    """As its own documentation has it: the CRD and the manifests, by kubectl."""
    cluster.apply_crds(older / "crds")
    objects = list(yaml.safe_load_all((older / "operator/manifests/operator.yaml").read_text()))
    (deployment,) = (one for one in objects if one["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["image"] = thin_images.OTHER_OPERATOR
    cluster.apply(objects)
    cluster.wait_for(OPERATOR, "Available", OPERATOR_NAMESPACE, within=90)


def fleet(claim: str, image: str) -> Object:
    made = fleets.fleet(train="workload:train_and_keep", image=image)
    made["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}
    return made


def progress(found: Object) -> Object:
    return dict(found["status"]["progress"])


def pods(cluster: Cluster, namespace: str) -> dict[str, int]:
    """Every pod of the fleet by its uid, and how often its containers were started again."""
    found = cluster.items("pods", namespace)
    return {
        pod["metadata"]["uid"]: sum(one["restartCount"] for one in pod["status"]["containerStatuses"]) for pod in found
    }


def test_a_fleet_of_an_older_release_runs_on_under_the_new_operator_and_is_then_upgraded_itself(
    own_cluster: Cluster, namespace: str, claim: str, older: Path, helm: Helm
) -> None:
    cluster = own_cluster
    install_older(cluster, older)
    cluster.apply([fleets.code(), fleet(claim, thin_images.OTHER_COLLECTOR)], namespace)
    before = cluster.wait_for(FLEET, lambda f: progress(f)["batches"] >= 5, namespace, within=240)
    running = pods(cluster, namespace)
    raycluster = cluster.get("raycluster/fleet", namespace)

    # Its Deployment selects its pods by labels of its own, which nobody may change.
    cluster.kubectl("delete", OPERATOR, "-n", OPERATOR_NAMESPACE)
    # What kubectl applied is kubectl's, field by field, where the two releases differ.
    words = ("--namespace", OPERATOR_NAMESPACE, "--take-ownership", "--force-conflicts", "--wait")
    helm("install", "collectorfleet-operator", CHARTS / "collectorfleet-operator", *words)

    def is_looked_after(found: Object) -> bool:
        ready = (condition(found, "Ready") or {}).get("status") == "True"
        return ready and progress(found)["batches"] > progress(before)["batches"] + 20

    after = cluster.wait_for(FLEET, is_looked_after, namespace, within=120)
    assert pods(cluster, namespace) == running
    now = cluster.get("raycluster/fleet", namespace)
    assert (now["metadata"]["uid"], now["metadata"]["generation"]) == (
        raycluster["metadata"]["uid"],
        raycluster["metadata"]["generation"],
    )
    assert after["status"]["driver"]["restarts"] == 0
    assert after["status"]["driverIncarnation"] == before["status"]["driverIncarnation"]
    assert progress(after)["framesDelivered"] == 200 * progress(after)["batches"]
    assert (condition(after, "UpToDate") or {})["status"] == "True"

    cluster.kubectl("scale", FLEET, "--replicas=2", "-n", namespace)
    cluster.wait_for(FLEET, lambda f: progress(f)["collectors"]["available"] == 2, namespace, within=120)

    newer = fleet(claim, fleets.IMAGE)
    newer["spec"]["collectors"]["replicas"] = 2
    newer["spec"]["updateStrategy"] = {"type": "RollingUpdate"}
    cluster.apply(newer, namespace)

    def is_upgraded(found: Object) -> bool:
        up_to_date = (condition(found, "UpToDate") or {})["status"] == "True"
        is_next = found["status"]["driverIncarnation"] > after["status"]["driverIncarnation"]
        # The new driver says that it went on from a checkpoint, which is one of the older image.
        return up_to_date and is_next and progress(found)["metrics"].get("resumed") == 1

    upgraded = cluster.wait_for(FLEET, is_upgraded, namespace, within=300)
    assert progress(upgraded)["batches"] > progress(after)["batches"]
    assert progress(upgraded)["framesLost"] == 0
