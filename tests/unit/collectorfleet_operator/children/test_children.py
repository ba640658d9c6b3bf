"""The manifests that a fleet becomes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import manifest

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.driver_job import driver_job
from collectorfleet_operator.children.group_sizes import GroupSize, resized, worker_groups
from collectorfleet_operator.children.lease import lease
from collectorfleet_operator.children.merge import merge
from collectorfleet_operator.children.raycluster import raycluster
from collectorfleet_operator.children.role import role
from collectorfleet_operator.children.role_binding import role_binding
from collectorfleet_operator.children.service_account import service_account
from collectorfleet_operator.objects import Object


def fleet(changes: dict[str, Any] | None = None) -> CollectorFleet:
    stored = manifest(changes)
    stored["metadata"] |= {"namespace": "lab", "uid": "u-1", "generation": 3}
    return CollectorFleet.parse_stored(stored)


def cluster(changes: dict[str, Any] | None = None) -> Object:
    return raycluster(fleet(changes))


def group(made: Object) -> Object:
    return worker_groups(made)[names.WORKER_GROUP]


def head(made: Object) -> Object:
    template: Object = made["spec"]["headGroupSpec"]["template"]
    return template


def worker(made: Object) -> Object:
    template: Object = group(made)["template"]
    return template


def driver(changes: dict[str, Any] | None = None) -> Object:
    template: Object = driver_job(fleet(changes))["spec"]["template"]
    return template


def env(template: Object) -> dict[str, Any]:
    return {one["name"]: one.get("value") for one in template["spec"]["containers"][0]["env"]}


TEMPLATES = pytest.mark.parametrize(
    "template", [head(cluster()), worker(cluster()), driver()], ids=["head", "worker", "driver"]
)


class TestEveryPod:
    @TEMPLATES
    def test_runs_without_privileges(self, template: Object) -> None:
        pod = template["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["runAsUser"] == 1000
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }

    @TEMPLATES
    def test_says_whose_it_is(self, template: Object) -> None:
        assert template["metadata"]["labels"][names.FLEET_LABEL] == "cheetah"
        assert template["metadata"]["labels"][names.ROLE_LABEL] in ("head", "worker", "driver")

    @TEMPLATES
    def test_sees_no_gpu_that_it_did_not_ask_for(self, template: Object) -> None:
        assert env(template)["NVIDIA_VISIBLE_DEVICES"] == "void"

    def test_takes_the_mounted_code_before_that_of_the_image(self) -> None:
        code = {"spec.code": {"configMap": "code"}}
        for template in (head(cluster(code)), worker(cluster(code)), driver(code)):
            (volume,) = (v for v in template["spec"]["volumes"] if v["name"] == "code")
            assert volume == {"name": "code", "configMap": {"name": "code"}}
            container = template["spec"]["containers"][0]
            assert {"name": "code", "mountPath": names.CODE_MOUNT, "readOnly": True} in container["volumeMounts"]
            assert f'PYTHONPATH="{names.CODE_MOUNT}${{PYTHONPATH:+:$PYTHONPATH}}"' in " ".join(container["command"])


class TestRayCluster:
    def test_the_head_gives_collectors_nothing_to_run_on(self) -> None:
        params = cluster()["spec"]["headGroupSpec"]["rayStartParams"]
        assert params["num-cpus"] == params["num-gpus"] == "0"
        assert params["system-config"] == "'{\"free_objects_period_milliseconds\": 100}'"

    def test_ray_checks_tokens_and_pods_hold_none_of_kubernetes(self) -> None:
        made = cluster()
        assert made["spec"]["authOptions"] == {"mode": "token"}
        for template in (head(made), worker(made)):
            assert template["spec"]["automountServiceAccountToken"] is False

    def test_one_ray_cpu_is_one_collector(self) -> None:
        made = cluster({"spec.collectors": {"replicas": 16, "resources": {"cpu": 2, "gpu": 0.25}}})
        assert group(made)["replicas"] == 4
        params = group(made)["rayStartParams"]
        assert (params["num-cpus"], params["num-gpus"], params["resources"]) == ("4", "1", "'{\"collector\": 4}'")
        container = worker(made)["spec"]["containers"][0]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
        assert container["resources"]["requests"]["cpu"] == "8200m"
        assert "NVIDIA_VISIBLE_DEVICES" not in env(worker(made))

    def test_workers_import_torch_before_a_collector_asks(self) -> None:
        assert env(worker(cluster()))["RAY_preload_python_modules"] == "torch,torchrl.collectors"
        assert env(worker(cluster()))["RAY_enable_worker_prestart"] == "1"

    def test_is_deleted_with_its_fleet(self) -> None:
        (owner,) = cluster()["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == ("u-1", True)

    def test_resizing_changes_nothing_else(self) -> None:
        made = cluster()
        smaller = resized(made, {names.WORKER_GROUP: GroupSize(1, ("b", "a"))})
        assert group(smaller)["scaleStrategy"] == {"workersToDelete": ["a", "b"]}
        assert resized(smaller, {names.WORKER_GROUP: GroupSize(4)}) == made


class TestDriver:
    def test_is_tried_again_unless_the_user_has_to_change_something(self) -> None:
        job = driver_job(fleet())["spec"]
        fail, ignore = job["podFailurePolicy"]["rules"]
        assert fail["action"] == "FailJob"
        assert fail["onExitCodes"] == {"containerName": "driver", "operator": "In", "values": [64]}
        assert ignore["action"] == "Ignore"
        assert job["template"]["spec"]["restartPolicy"] == "Never"
        assert "ttlSecondsAfterFinished" not in job

    def test_knows_its_fleet_and_where_ray_is(self) -> None:
        known = env(driver())
        assert known[names.ENV_NAME] == "cheetah"
        assert known[names.ENV_UID] == "u-1"
        assert known[names.ENV_RAY_ADDRESS] == "cheetah-head-svc.lab.svc.cluster.local:6379"
        assert known["RAY_AUTH_TOKEN_PATH"] == "/var/run/secrets/collectorfleet/ray/auth_token"

    def test_waits_for_the_token_instead_of_starting_without(self) -> None:
        (token,) = (v for v in driver()["spec"]["volumes"] if v["name"] == "ray-token")
        assert token["secret"] == {"secretName": "cheetah"}

    def test_gets_the_resources_that_it_asks_for(self) -> None:
        resources = {"spec.driver.resources": {"cpu": "500m", "memory": "4Gi", "gpu": 1}}
        template = driver(resources)
        container = template["spec"]["containers"][0]
        assert container["resources"] == {
            "requests": {"cpu": "500m", "memory": "4Gi"},
            "limits": {"memory": "4Gi", "nvidia.com/gpu": 1},
        }
        assert "NVIDIA_VISIBLE_DEVICES" not in env(template)

    def test_finds_its_checkpoints_where_the_claim_is_mounted(self) -> None:
        spec = driver({"spec.driver.checkpoint": {"claimName": "cheetah", "subPath": "runs/2"}})["spec"]
        (volume,) = (v for v in spec["volumes"] if v["name"] == "checkpoints")
        assert volume == {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "cheetah"}}
        (mount,) = (m for m in spec["containers"][0]["volumeMounts"] if m["name"] == "checkpoints")
        assert mount == {"name": "checkpoints", "mountPath": names.CHECKPOINT_MOUNT, "subPath": "runs/2"}
        assert {"name": names.ENV_CHECKPOINTS, "value": names.CHECKPOINT_MOUNT} in spec["containers"][0]["env"]
        # Not root: the volume is made writable for the driver's group.
        assert spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsGroup"]

    def test_mounts_the_root_of_a_claim_unless_told_otherwise_and_nothing_without_one(self) -> None:
        spec = driver({"spec.driver.checkpoint": {"claimName": "cheetah"}})["spec"]
        assert {"name": "checkpoints", "mountPath": names.CHECKPOINT_MOUNT} in spec["containers"][0]["volumeMounts"]
        assert "checkpoints" not in [volume["name"] for volume in driver()["spec"]["volumes"]]

    def test_says_where_its_metrics_are(self) -> None:
        template = driver()
        assert template["spec"]["containers"][0]["ports"] == [{"name": "metrics", "containerPort": names.METRICS_PORT}]
        assert template["metadata"]["annotations"] == {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": str(names.METRICS_PORT),
            "prometheus.io/path": "/metrics",
        }
        quiet = {"metadata": {"annotations": {"prometheus.io/scrape": "false"}}}
        assert driver({"spec.driver.template": quiet})["metadata"]["annotations"]["prometheus.io/scrape"] == "false"

    def test_may_touch_nothing_but_its_own_fleet_and_lease(self) -> None:
        assert role(fleet())["rules"] == [
            _rule("collectorfleet.dev", "collectorfleets", "cheetah", "get"),
            _rule("collectorfleet.dev", "collectorfleets/status", "cheetah", "patch"),
            _rule("coordination.k8s.io", "leases", "cheetah-driver", "get", "patch"),
        ]
        assert role_binding(fleet())["roleRef"]["name"] == role(fleet())["metadata"]["name"]
        (subject,) = role_binding(fleet())["subjects"]
        assert subject["name"] == service_account(fleet())["metadata"]["name"]
        assert driver()["spec"]["serviceAccountName"] == subject["name"]

    def test_owns_what_its_lease_says(self) -> None:
        assert "spec" not in lease(fleet())


class TestUsersTemplate:
    def test_containers_merge_by_name_and_the_users_fields_win(self) -> None:
        sidecar = {"name": "metrics", "image": "metrics:1"}
        own = {
            "name": "ray-worker",
            "env": [{"name": "SEED", "value": "1"}],
            "resources": {"limits": {"memory": "9Gi"}},
        }
        pod = {"nodeSelector": {"gpu": "a100"}, "containers": [sidecar, own]}
        template = worker(cluster({"spec.workers.template": {"spec": pod}}))
        ray, metrics = template["spec"]["containers"]
        # KubeRay takes the first container for Ray's.
        assert ray["name"] == "ray-worker"
        assert metrics == sidecar
        assert env(template)["SEED"] == "1"
        assert env(template)["RAY_enable_worker_prestart"] == "1"
        assert ray["resources"]["limits"]["memory"] == "9Gi"
        assert ray["image"] == "ghcr.io/you/cheetah:1.0"
        assert template["spec"]["nodeSelector"] == {"gpu": "a100"}

    def test_cannot_hide_a_pod_from_its_fleet(self) -> None:
        mine = {"metadata": {"labels": {names.FLEET_LABEL: "other", "team": "rl"}}}
        labels = driver({"spec.driver.template": mine})["metadata"]["labels"]
        assert labels[names.FLEET_LABEL] == "cheetah"
        assert labels["team"] == "rl"

    @pytest.mark.parametrize(
        ("base", "over", "merged"),
        [
            pytest.param({"a": 1}, {"b": 2}, {"a": 1, "b": 2}, id="objects merge"),
            pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}, id="null removes"),
            pytest.param({}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}, id="null of nothing"),
            pytest.param({"args": ["x"]}, {"args": ["y"]}, {"args": ["y"]}, id="plain lists are replaced"),
            pytest.param(
                {"env": [{"name": "A", "value": "1"}]},
                {"env": [{"name": "A", "valueFrom": {"x": 1}}]},
                {"env": [{"name": "A", "valueFrom": {"x": 1}}]},
                id="an env entry is taken whole",
            ),
            pytest.param(
                {"volumeMounts": [{"name": "v", "mountPath": "/a"}]},
                {"volumeMounts": [{"name": "v", "mountPath": "/b"}]},
                {"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]},
                id="a volume may be mounted twice",
            ),
        ],
    )
    def test_merges_as_kubectl_does(self, base: Object, over: Object, merged: Object) -> None:
        assert merge(base, over) == merged


def _rule(group: str, resource: str, name: str, *verbs: str) -> Object:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": list(verbs)}
