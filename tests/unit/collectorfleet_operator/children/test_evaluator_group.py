"""The pods that hold evaluators."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.combinations.parts import EVALUATION, GROUPS, JOB, LEARNERS
from tests.unit.collectorfleet_operator.children.fleets import cluster, driver, env, fleet, group

from collectorfleet_api import names
from collectorfleet_api.packing.quantity import parse_quantity
from collectorfleet_operator.children.driver_job import driver_job, spec_of_job, with_workers_of
from collectorfleet_operator.children.group_sizes import pods_text, worker_groups
from collectorfleet_operator.children.hashes import hashes_of
from collectorfleet_operator.children.network_policy import network_policy
from collectorfleet_operator.children.raycluster import raycluster
from collectorfleet_operator.children.worker_group import template_label_of
from collectorfleet_operator.children.workload import NEWEST_KUEUE, counts_of, workload
from collectorfleet_operator.objects import Object, label

FAST = {"spec": {"nodeSelector": {"pool": "fast"}}}


def with_(**evaluation: Any) -> dict[str, Any]:
    return {"spec.evaluation": {**EVALUATION, **evaluation}}


def evaluators(changes: dict[str, Any] | None = None) -> Object:
    return worker_groups(cluster(changes or with_()))["evaluators"]


def requests(template: Object) -> Object:
    found: Object = template["spec"]["containers"][0]["resources"]
    return found


def test_one_pod_is_one_evaluator_with_what_ray_needs_beside_it() -> None:
    made = evaluators()
    assert made["replicas"] == 2
    params = made["rayStartParams"]
    assert (params["num-cpus"], params["num-gpus"], params["resources"]) == ("2", "0", "'{\"evaluator\": 1}'")
    # 1.5 CPU and 200m for Ray; 3 GiB, 512 MiB for Ray and 512 MiB for its object store.
    assert requests(made["template"]) == {"requests": {"cpu": "1700m", "memory": "4Gi"}, "limits": {"memory": "4Gi"}}
    assert params["object-store-memory"] == str(512 * 2**20)


def test_evaluator_pods_hold_no_collectors_and_no_gpu_unless_evaluators_ask_for_one() -> None:
    gpus = {"spec.collectors.resources.gpu": 1, "spec.collectors.devices": {"device": "cuda"}}
    made = cluster(with_() | gpus)
    assert '"collector"' not in evaluators()["rayStartParams"]["resources"]
    assert '"evaluator"' not in group(made)["rayStartParams"]["resources"]
    template = worker_groups(made)["evaluators"]["template"]
    assert label(template, names.ROLE_LABEL) == "evaluator"
    assert env(template)["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert "nvidia.com/gpu" not in requests(template)["limits"]


@pytest.mark.parametrize(
    ("gpu", "per_pod", "pods", "evaluators_per_pod", "gpus_of_pod"),
    [
        pytest.param(0.5, 1, 1, 2, 1, id="two halves share a pod"),
        pytest.param(0.25, 8, 1, 2, 1, id="a pod has no GPU that its evaluators do not need"),
        pytest.param(1, 1, 2, 1, 1, id="a pod for each whole GPU"),
        pytest.param(2, 4, 1, 2, 4, id="two evaluators of two GPUs"),
    ],
)
def test_evaluators_with_gpus_are_packed_as_collectors_are(
    gpu: float, per_pod: int, pods: int, evaluators_per_pod: int, gpus_of_pod: int
) -> None:
    resources = {"cpu": "1500m", "memory": "3Gi", "gpu": gpu}
    made = evaluators(with_(resources=resources) | {"spec.workers.gpu.perPod": per_pod})
    params = made["rayStartParams"]
    assert made["replicas"] == pods
    assert (params["num-gpus"], params["num-cpus"]) == (str(gpus_of_pod), str(2 * evaluators_per_pod))
    assert params["resources"] == f"'{json.dumps({'evaluator': evaluators_per_pod})}'"
    memory = f"{3 * evaluators_per_pod * 1024 + 768 + 256 * evaluators_per_pod}Mi"
    limits = requests(made["template"])["limits"]
    assert parse_quantity(limits["memory"]) == parse_quantity(memory)
    assert limits["nvidia.com/gpu"] == gpus_of_pod
    assert "NVIDIA_VISIBLE_DEVICES" not in env(made["template"])


@pytest.mark.parametrize(
    ("gpu", "limits", "claims"),
    [
        ({"mode": "MIG", "resource": "nvidia.com/mig-1g.10gb"}, {"nvidia.com/mig-1g.10gb": 1}, None),
        ({"mode": "TimeSlicing", "resource": "nvidia.com/gpu.shared"}, {"nvidia.com/gpu.shared": 1}, None),
        (
            {"mode": "DRA", "claimTemplate": "half"},
            {},
            [{"name": "gpus", "resourceClaimTemplateName": "half"}],
        ),
        ({"mode": "None"}, {}, None),
    ],
    ids=["MIG", "TimeSlicing", "DRA", "None"],
)
def test_evaluator_pods_get_gpus_as_worker_pods_do(
    gpu: dict[str, Any], limits: dict[str, int], claims: list[dict[str, str]] | None
) -> None:
    made = evaluators(with_(resources={"gpu": 0.5}) | {"spec.workers.gpu": gpu})
    resources = requests(made["template"])
    assert {name: amount for name, amount in resources["limits"].items() if name != "memory"} == limits
    assert made["template"]["spec"].get("resourceClaims") == claims
    assert resources.get("claims") == (None if claims is None else [{"name": "gpus"}])


def test_another_way_to_get_gpus_makes_the_pods_of_evaluators_with_gpus_anew_and_no_others() -> None:
    def changed(evaluation: dict[str, Any]) -> set[str]:
        sliced = {"spec.workers.gpu": {"mode": "TimeSlicing"}}
        before, after = hashes_of(fleet(evaluation).spec), hashes_of(fleet(evaluation | sliced).spec)
        return {part for part in before if before[part] != after[part]}

    assert changed(with_()) == {"driver", "group-collectors"}
    assert changed(with_(resources={"gpu": 1})) == {"driver", "group-collectors", "group-evaluators"}


def test_evaluators_with_gpus_follow_one_way_to_get_gpus_to_another() -> None:
    def hashed(mode: str, evaluation: dict[str, Any]) -> str:
        return hashes_of(fleet(evaluation | {"spec.workers.gpu": {"mode": mode}}).spec)["group-evaluators"]

    with_gpu, without = with_(resources={"gpu": 1}), with_()
    assert hashed("TimeSlicing", with_gpu) != hashed("MIG", with_gpu)
    assert hashed("TimeSlicing", without) == hashed("MIG", without)


def test_a_queue_is_asked_for_the_gpus_of_evaluators() -> None:
    queued = with_(resources={"gpu": 0.5}) | {"metadata.labels": {names.QUEUE_LABEL: "team"}}
    made = workload(fleet(queued), NEWEST_KUEUE)
    assert counts_of(made)["workers-evaluators"] == 1
    pod = next(one for one in made["spec"]["podSets"] if one["name"] == "workers-evaluators")["template"]
    assert requests(pod)["limits"]["nvidia.com/gpu"] == 1


def test_an_evaluator_knows_its_pod_and_is_not_waited_for_when_the_pod_ends() -> None:
    (container,) = evaluators()["template"]["spec"]["containers"]
    assert {"name": names.ENV_POD, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}} in container["env"]
    assert "lifecycle" not in container
    assert evaluators()["template"]["spec"]["terminationGracePeriodSeconds"] == 5


def test_the_template_of_workers_is_merged_first_and_that_of_evaluators_over_it() -> None:
    workers = {
        "metadata": {"labels": {"team": "robotics"}},
        "spec": {"nodeSelector": {"pool": "slow", "arch": "amd64"}, "priorityClassName": "high"},
    }
    own = {"spec": {"nodeSelector": {"pool": "fast"}, "priorityClassName": None}}
    template = evaluators(with_(template=own) | {"spec.workers.template": workers})["template"]
    assert template["spec"]["nodeSelector"] == {"pool": "fast", "arch": "amd64"}
    assert template["metadata"]["labels"]["team"] == "robotics"
    assert "priorityClassName" not in template["spec"]


def test_gpus_of_the_template_of_workers_can_be_taken_out() -> None:
    def gpus(amount: int | None) -> Object:
        return {"spec": {"containers": [{"name": "ray-worker", "resources": {"limits": {"nvidia.com/gpu": amount}}}]}}

    made = evaluators(with_(template=gpus(None)) | {"spec.workers.template": gpus(1)})
    assert requests(made["template"])["limits"] == {"memory": "4Gi"}
    assert env(made["template"])["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_a_groups_own_template_is_not_that_of_evaluators() -> None:
    own = [GROUPS[0], {**GROUPS[1], "workers": {"template": FAST}}]
    made = cluster(with_() | {"spec.collectors.groups": own})
    assert set(worker_groups(made)) == {"fast", "big", "evaluators"}
    assert "nodeSelector" not in worker_groups(made)["evaluators"]["template"]["spec"]


@pytest.mark.parametrize(
    "changes", [with_(template=FAST), with_() | {"spec.workers.template": FAST}], ids=["their own", "that of workers"]
)
def test_the_pods_know_which_template_they_were_made_from(changes: dict[str, Any]) -> None:
    assert template_label_of(evaluators(changes)["template"]) != template_label_of(evaluators()["template"])


def test_the_pods_are_counted_by_name() -> None:
    assert pods_text(cluster(with_())) == "4 worker pods for 1 collector each in collectors, 2 evaluator pods"
    both = cluster(with_(replicas=1) | {"spec.learners": {**LEARNERS, "maxPolicies": 2}})
    assert pods_text(both).endswith("2 learner pods, 1 evaluator pod")


def test_the_network_policy_of_a_fleet_is_about_evaluator_pods_too() -> None:
    made = network_policy(fleet({"spec.networkPolicy": {}}))
    assert made is not None
    assert made["spec"]["podSelector"]["matchLabels"].items() <= evaluators()["template"]["metadata"]["labels"].items()


def test_a_queue_is_asked_for_the_evaluator_pods_too() -> None:
    queued = with_() | {"metadata.labels": {names.QUEUE_LABEL: "team"}}
    made = workload(fleet(queued), NEWEST_KUEUE)
    assert counts_of(made) == {"driver": 1, "head": 1, "workers-collectors": 4, "workers-evaluators": 2}
    pod = next(one for one in made["spec"]["podSets"] if one["name"] == "workers-evaluators")["template"]
    assert requests(pod)["requests"] == {"cpu": "1700m", "memory": "4Gi"}


def test_without_ray_evaluators_are_part_of_the_driver_pod() -> None:
    # 2 CPU and 4 GiB of the driver, and two evaluators of 1.5 CPU and 3 GiB.
    changes = {**JOB, **with_(), "spec.driver.resources": {"cpu": 2, "memory": "4Gi"}}
    pod = driver(changes)
    assert requests(pod) == {"requests": {"cpu": "5", "memory": "10Gi"}, "limits": {"memory": "10Gi"}}
    (shared,) = (one["emptyDir"] for one in pod["spec"]["volumes"] if one.get("emptyDir", {}).get("medium") == "Memory")
    assert shared["sizeLimit"] == "10Gi"  # processes of environments share memory there
    with_ray = {key: value for key, value in changes.items() if key not in JOB}
    assert requests(driver(with_ray))["requests"] == {"cpu": "2", "memory": "4Gi"}


def test_without_ray_evaluators_have_no_pods_that_a_change_could_make_anew() -> None:
    assert set(hashes_of(fleet({**JOB, **with_()}).spec)) == {"driver", "head", "group-collectors"}
    assert hashes_of(fleet(with_()).spec).keys() - hashes_of(fleet().spec).keys() == {"group-evaluators"}


def test_a_fleet_without_evaluation_has_the_same_cluster_as_ever() -> None:
    assert list(worker_groups(cluster())) == ["collectors"]


def test_a_driver_that_goes_on_knows_the_template_that_its_evaluators_have_now() -> None:
    before, after = fleet(with_()), fleet(with_(template=FAST))
    job = with_workers_of(driver_job(before), after)
    spec = spec_of_job(job)
    assert spec is not None
    assert spec["evaluation"]["template"] == FAST
    assert spec == json.loads(json.dumps(after.spec.to_wire()))
    # What the driver itself reads stays what it was started with.
    assert job["spec"] == driver_job(before)["spec"]


def test_the_same_cluster_is_made_of_the_same_evaluation() -> None:
    assert raycluster(fleet(with_())) == raycluster(fleet(with_()))
