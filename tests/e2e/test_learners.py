"""Two policies that learn from each other on pods of their own, as the example has it."""

from __future__ import annotations

from pathlib import Path

import yaml
from tests.cluster.client import Client, Object
from tests.manifests import changed

EXAMPLE = Path(__file__).parents[2] / "examples" / "self_play.yaml"
# They run beside two collectors, the head and the driver on a machine of two cores.
SMALL = {
    "spec.collection.totalFrames": 2500,
    "spec.collectors": {"replicas": 1, "resources": {"cpu": "100m", "memory": "1500Mi"}},
    "spec.learners.resources": {"cpu": "50m", "memory": "1Gi"},
    "spec.learners.replay.resources": {"cpu": "50m", "memory": "1Gi"},
    "spec.driver.resources": {"cpu": "100m", "memory": "2Gi"},
}


def node_of(pods: list[Object], role: str) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods if pod["metadata"]["labels"]["collectorfleet.dev/role"] == role}


def test_two_policies_learn_on_pods_of_their_own_and_the_status_tells_of_each(cluster: Client, namespace: str) -> None:
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    cluster.apply(code, namespace)
    cluster.apply(changed(fleet, SMALL), namespace)
    cluster.wait_for("cfleet/self-play", "Ready", namespace, within=400)
    pods = cluster.items("pods", namespace, "collectorfleet.dev/fleet=self-play")
    learners, workers = node_of(pods, "learner"), node_of(pods, "worker")
    assert (len(learners), len(workers)) == (2, 1)

    done = cluster.wait_for("cfleet/self-play", "Completed", namespace, within=400)
    status = done["status"]
    assert status["progress"]["framesDelivered"] == 2500
    assert {row["pod"] for row in status["collectors"]} == workers
    told = status["learners"]
    assert (told["shards"], told["places"], told["used"]) == (2, 2, 2)
    for policy in told["policies"]:
        assert policy["steps"] == 5
        assert 1 < policy["published"] <= status["weights"]["published"]
        assert policy["staleness"]["max"] > 0
    assert {one["shard"] for one in told["policies"]} == {0, 1}
