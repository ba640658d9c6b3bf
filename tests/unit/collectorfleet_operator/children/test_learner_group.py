"""The pods that hold learner shards."""

from __future__ import annotations

from typing import Any

from tests.combinations.parts import LEARNERS
from tests.unit.collectorfleet_operator.children.fleets import cluster, env, group

from collectorfleet_operator.children.group_sizes import pods_text, worker_groups
from collectorfleet_operator.children.worker_group import template_label_of
from collectorfleet_operator.objects import Object, label


def learners(**changes: Any) -> Object:
    return learner_group(cluster({"spec.learners": {**LEARNERS, **changes}}))


def learner_group(made: Object) -> Object:
    return worker_groups(made)["learners"]


def test_one_pod_is_one_shard_with_the_gpus_of_its_policies() -> None:
    made = learners(maxPolicies=10, gpus=4, resources={"cpu": "1500m", "memory": "2Gi"})
    assert made["replicas"] == 4
    params = made["rayStartParams"]
    # A replay actor of 1 CPU and 3 policies of 2 as Ray counts them.
    assert (params["num-cpus"], params["num-gpus"], params["resources"]) == ("7", "1", "'{\"learner\": 4}'")
    resources = made["template"]["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "5700m", "memory": "9984Mi"}
    assert resources["limits"] == {"memory": "9984Mi", "nvidia.com/gpu": 1}


def test_learner_pods_hold_no_collectors_and_start_no_processes_ahead() -> None:
    made = cluster({"spec.learners": LEARNERS})
    assert '"collector"' not in learner_group(made)["rayStartParams"]["resources"]
    assert '"learner"' not in group(made)["rayStartParams"]["resources"]
    template = learner_group(made)["template"]
    assert label(template, "collectorfleet.dev/role") == "learner"
    assert set(env(template)) == {"NVIDIA_VISIBLE_DEVICES", "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S"}
    assert "lifecycle" not in template["spec"]["containers"][0]
    assert pods_text(made) == "4 worker pods for 1 collector each in collectors, 2 learner pods"


def test_checkpoints_are_mounted_where_the_driver_has_them() -> None:
    kept = {"spec.learners": LEARNERS, "spec.driver.checkpoint": {"claimName": "runs", "subPath": "a/b"}}
    spec = learner_group(cluster(kept))["template"]["spec"]
    assert spec["volumes"] == [{"name": "checkpoints", "persistentVolumeClaim": {"claimName": "runs"}}]
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": "checkpoints", "mountPath": "/var/lib/collectorfleet/checkpoints", "subPath": "a/b"}
    ]
    assert "volumes" not in learners()["template"]["spec"]


def test_the_users_template_wins_and_the_pods_know_what_they_were_made_from() -> None:
    template = {"spec": {"nodeSelector": {"gpu": "h100"}}}
    made = learners(template=template)
    assert made["template"]["spec"]["nodeSelector"] == {"gpu": "h100"}
    assert template_label_of(made["template"]) != template_label_of(learners()["template"])


def test_a_fleet_without_learners_has_the_same_cluster_as_ever() -> None:
    assert list(worker_groups(cluster())) == ["collectors"]


def test_pods_claim_their_gpus_only_where_gpus_are_claimed() -> None:
    claimed = {"spec.learners": {**LEARNERS, "gpus": 1}, "spec.workers.gpu": {"mode": "DRA", "claimTemplate": "one"}}
    spec = learner_group(cluster(claimed))["template"]["spec"]
    assert spec["resourceClaims"] == [{"name": "gpus", "resourceClaimTemplateName": "one"}]
    assert "resourceClaims" not in learners(gpus=1)["template"]["spec"]


def test_a_raycluster_may_have_any_number_of_learner_pods() -> None:
    made = learners()
    assert (made["minReplicas"], made["maxReplicas"] >= 10_000) == (0, True)
