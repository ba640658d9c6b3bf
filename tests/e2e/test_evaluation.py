"""Evaluators and a curriculum on real nodes: pods come and go, and neither results nor parameters notice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cluster.client import Object
from tests.cluster.cluster import Cluster
from tests.cluster.thin_images import COLLECTOR_IMAGES
from tests.e2e import fleets
from tests.e2e.plugin import cfleet
from tests.wait import eventually

OF_EVALUATORS = "collectorfleet.dev/role=evaluator"


def spec(
    claim: str, *, collectors: int = 1, suspend: bool = False, pods: str = "1", image: str = COLLECTOR_IMAGES[0]
) -> Object:
    fleet = fleets.fleet(replicas=collectors, train="workload:train_with_parameters", image=image)
    fleet["spec"]["driver"]["curriculum"] = {"function": "workload:curriculum"}
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": claim, "everySeconds": 1}
    fleet["spec"]["evaluation"] = {
        "everyVersions": 2,
        "episodes": 3,
        "keepBest": True,
        "resources": {"cpu": "100m", "memory": "1500Mi"},
    }
    fleet["spec"]["suspend"] = suspend
    fleet["spec"]["updateStrategy"] = {"type": "RollingUpdate"}
    fleet["spec"]["workers"] = {"template": {"metadata": {"annotations": {"pods": pods}}}}
    return fleet


def evaluation(cluster: Cluster, namespace: str, after: Object | None, **conditions: Any) -> Object:
    """Wait until two more evaluations have finished than ``after`` says, and the status has ``conditions``.

    The first of the two may have begun before. The training function must have reported metrics: a driver that
    resumes has collectors, and the evaluations of the driver before it, earlier than that. The curriculum must have
    set newer parameters than ``after`` has: the driver calls the curriculum only between two batches.
    """
    least = 1 if after is None else after["evaluation"]["finished"] + 2

    def has_finished(found: Object) -> bool:
        status = found["status"]
        return (
            status["evaluation"]["finished"] >= least
            and "newest_parameters" in status["progress"]["metrics"]
            and (
                after is None or status["environmentParameters"]["version"] > after["environmentParameters"]["version"]
            )
            and all(check(status) for check in conditions.values())
        )

    status: Object = cluster.wait_for("cfleet/fleet", has_finished, namespace, within=400)["status"]
    assert status["evaluation"]["version"] <= status["weights"]["published"]
    assert status["evaluation"]["episodes"] == 3
    parameters = status["environmentParameters"]
    # Each evaluation was followed once, by whichever driver.
    assert parameters.get("values", {}) == ({"gravity": 10.0 + parameters["version"]} if parameters["version"] else {})
    if after is not None:
        assert status["progress"]["metrics"]["newest_parameters"] <= parameters["version"]
    return status


def best_weights(cluster: Cluster, namespace: str, file: Path) -> dict[str, str]:
    """Export the best weights from the claim and return where they are from."""
    assert cfleet(cluster, namespace, "export", "fleet", "--best", "-o", str(file), within=300) == f"{file}\n"
    found = torch.load(file, weights_only=True)
    assert all(isinstance(one, torch.Tensor) for one in found["state_dict"].values())
    pods = [pod["metadata"]["name"] for pod in cluster.items("pods", namespace)]
    assert [name for name in pods if "-export-" in name] == []
    metadata: dict[str, str] = found["metadata"]
    return metadata


@pytest.mark.timeout(1200)
def test_results_and_parameters_stay_true_while_pods_come_and_go(
    own_cluster: Cluster, namespace: str, claim: str, tmp_path: Path
) -> None:
    cluster = own_cluster
    cluster.apply([fleets.code(), spec(claim)], namespace)
    # The operator writes the number of replicas, and it may be later than the driver's report.
    first = evaluation(cluster, namespace, None, counted=lambda status: status["replicas"] > 0)
    assert first["replicas"] == 1  # evaluators are not collectors
    [pod] = cluster.items("pods", namespace, OF_EVALUATORS)

    cluster.kill_pod(pod["metadata"]["name"], namespace)
    # Two versions may have been due before, so their evaluations alone do not show that batches go on.
    replaced = evaluation(
        cluster,
        namespace,
        first,
        restarted=lambda status: status["evaluation"]["restarts"] >= 1,
        goes_on=lambda status: status["progress"]["batches"] > first["progress"]["batches"],
    )
    assert replaced["driverIncarnation"] == 1
    assert replaced["driver"]["restarts"] == 0
    assert [row["restarts"] for row in replaced["collectors"]] == [0]

    cluster.apply(spec(claim, collectors=2), namespace)
    scaled = evaluation(cluster, namespace, replaced, collectors=lambda status: status["replicas"] == 2)
    assert scaled["driverIncarnation"] == 1
    # The driver goes on, and its claim can be mounted on its node alone.
    exported = best_weights(cluster, namespace, tmp_path / "running.pt")
    assert int(exported["version"]) > 0

    cluster.apply(spec(claim, collectors=2, suspend=True), namespace)
    held = cluster.wait_for("cfleet/fleet", "Suspended", namespace, within=240)["status"]
    eventually(
        lambda: cluster.items("pods", namespace, OF_EVALUATORS),
        until=lambda pods: not pods,
        within=120,
        what="no pod of an evaluator",
    )
    exported, best = best_weights(cluster, namespace, tmp_path / "held.pt"), held["evaluation"]["best"]
    assert int(exported["version"]) == best["version"]
    assert float(exported["return_mean"]) == pytest.approx(best["returnMean"], rel=1e-3)

    cluster.apply(spec(claim, collectors=2), namespace)
    resumed = evaluation(cluster, namespace, held, next_driver=lambda status: status["driverIncarnation"] == 2)
    assert resumed["evaluation"]["version"] > held["evaluation"]["version"]
    assert resumed["evaluation"]["best"]["returnMean"] >= held["evaluation"]["best"]["returnMean"]


@pytest.mark.variant_of(
    "tests/e2e/test_change.py::test_a_fleet_is_changed_suspended_and_resumed_without_losing_a_frame"
)
@pytest.mark.timeout(1200)
def test_results_and_parameters_stay_true_while_the_pods_of_a_fleet_change(
    own_cluster: Cluster, namespace: str, claim: str
) -> None:
    cluster = own_cluster
    cluster.apply([fleets.code(), spec(claim, collectors=2)], namespace)
    first = evaluation(cluster, namespace, None)
    assert first["driverIncarnation"] == 1

    # Other pods for collectors and evaluators; the driver goes on.
    before = {pod["metadata"]["name"] for pod in cluster.items("pods", namespace, OF_EVALUATORS)}
    cluster.apply(spec(claim, collectors=2, pods="2"), namespace)
    eventually(
        lambda: {pod["metadata"]["name"] for pod in cluster.items("pods", namespace, OF_EVALUATORS)},
        until=lambda pods: len(pods) == 1 and not pods & before,
        within=240,
        what="another pod of an evaluator",
    )
    rolled = evaluation(
        cluster,
        namespace,
        first,
        all_there=lambda status: (
            status["progress"]["collectors"]["available"] == 2 and status["environmentParameters"]["applied"] == 2
        ),
    )
    assert rolled["driverIncarnation"] == 1
    assert rolled["progress"]["collectors"]["restarts"] == 0

    # The driver, too: each pod has the other image, and the next driver continues from the checkpoint.
    cluster.apply(spec(claim, collectors=2, pods="2", image=COLLECTOR_IMAGES[1]), namespace)
    renewed = evaluation(
        cluster,
        namespace,
        rolled,
        another_driver=lambda status: status["driverIncarnation"] == 2,
        all_there=lambda status: status["progress"]["collectors"]["available"] == 2,
    )
    fleets.wait_for_image(cluster, namespace, COLLECTOR_IMAGES[1])
    assert renewed["evaluation"]["version"] > rolled["evaluation"]["version"]
    assert renewed["evaluation"]["best"]["returnMean"] >= rolled["evaluation"]["best"]["returnMean"]
