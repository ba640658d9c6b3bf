"""What every pod of a fleet has, and what users put over it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.combinations.parts import LEARNERS
from tests.unit.collectorfleet_operator.children.fleets import cluster, driver, env, head, worker

from collectorfleet_api import names
from collectorfleet_operator.children.group_sizes import worker_groups
from collectorfleet_operator.objects import Object

UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
TEMPLATES = pytest.mark.parametrize(
    "template", [head(cluster()), worker(cluster()), driver()], ids=["head", "worker", "driver"]
)


@TEMPLATES
def test_a_pod_runs_without_privileges(template: Object) -> None:
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
def test_a_pod_says_whose_it_is(template: Object) -> None:
    assert template["metadata"]["labels"][names.FLEET_LABEL] == "cheetah"
    assert template["metadata"]["labels"][names.ROLE_LABEL] in ("head", "worker", "driver")


@TEMPLATES
def test_a_pod_sees_no_gpu_that_it_did_not_ask_for(template: Object) -> None:
    assert env(template)["NVIDIA_VISIBLE_DEVICES"] == "void"


def with_container(name: str, **fields: Any) -> Object:
    return {"spec": {"containers": [{"name": name, **fields}]}}


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param({"limits": {"nvidia.com/mig-1g.10gb": 1}}, id="a slice"),
        pytest.param({"limits": {"nvidia.com/gpu": "1"}}, id="a GPU"),
        pytest.param({"claims": [{"name": "half"}]}, id="a claim"),
    ],
)
def test_a_pod_sees_the_gpu_that_its_template_asks_for(resources: dict[str, Any]) -> None:
    # The kubelet puts a container's own env after what the device plugin says.
    drives = driver({"spec.driver.template": with_container("driver", resources=resources)})
    renders = worker(cluster({"spec.workers.template": with_container("ray-worker", resources=resources)}))
    for template in (drives, renders):
        assert "NVIDIA_VISIBLE_DEVICES" not in env(template)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"resources": {"limits": {"nvidia.com/gpu": 0}}}, id="none of them"),
        pytest.param({"resources": {"limits": {"rdma/hca": 1}}}, id="another device"),
        pytest.param({"resources": "a GPU"}, id="no resources"),
        pytest.param({"resources": {"limits": ["nvidia.com/gpu"]}}, id="no limits"),
    ],
)
def test_a_template_that_asks_for_no_gpu_shows_none(fields: dict[str, Any]) -> None:
    template = driver({"spec.driver.template": with_container("driver", **fields)})
    assert env(template)["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_a_template_may_say_itself_which_gpus_are_seen() -> None:
    own = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "0"}]
    for resources in ({}, {"limits": {"nvidia.com/gpu": 1}}):
        template = driver({"spec.driver.template": with_container("driver", env=own, resources=resources)})
        assert env(template)["NVIDIA_VISIBLE_DEVICES"] == "0"


def test_a_pod_takes_the_mounted_code_before_that_of_the_image() -> None:
    code = {"spec.code": {"configMap": "code"}}
    for template in (head(cluster(code)), worker(cluster(code)), driver(code)):
        (volume,) = (v for v in template["spec"]["volumes"] if v["name"] == "code")
        assert volume == {"name": "code", "configMap": {"name": "code"}}
        container = template["spec"]["containers"][0]
        assert {"name": "code", "mountPath": names.CODE_MOUNT, "readOnly": True} in container["volumeMounts"]
        assert f'PYTHONPATH="{names.CODE_MOUNT}${{PYTHONPATH:+:$PYTHONPATH}}"' in " ".join(container["command"])


def test_a_tree_is_unpacked_in_every_pod_before_its_own_container_starts() -> None:
    archive = {"configMap": "tree", "key": "code.tar.gz", "sha256": "a" * 64}
    tree = {"archive": archive, "path": "src"}
    code = {"spec.code": tree}
    for template in (head(cluster(code)), worker(cluster(code)), driver(code)):
        pod = template["spec"]
        volumes = {one["name"]: one for one in pod["volumes"]}
        assert volumes["code-archive"]["configMap"] == {"name": "tree"}
        assert "emptyDir" in volumes["code"]
        own = pod["containers"][0]
        assert {"name": "code", "mountPath": names.CODE_MOUNT, "readOnly": True} in own["volumeMounts"]
        assert f'PYTHONPATH="{names.CODE_MOUNT}/src${{PYTHONPATH:+:$PYTHONPATH}}"' in " ".join(own["command"])
        (unpacks,) = pod["initContainers"]
        assert unpacks["image"] == own["image"]
        assert json.loads(unpacks["env"][0]["value"]) == tree
        assert unpacks["securityContext"]["readOnlyRootFilesystem"]
        assert unpacks["volumeMounts"] == [
            {"name": "code", "mountPath": names.CODE_MOUNT},
            {"name": "code-archive", "mountPath": names.CODE_ARCHIVE_MOUNT, "readOnly": True},
        ]


def test_a_tree_behind_a_url_needs_no_volume_but_its_own() -> None:
    template = driver({"spec.code": {"archive": {"url": "https://example.com/tree.zip", "sha256": "a" * 64}}})
    assert "code-archive" not in {one["name"] for one in template["spec"]["volumes"]}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param({"git": {"repository": "https://example.com/lab.git", "commit": "a" * 40}}, id="git"),
        pytest.param({"artifact": {"reference": f"ghcr.io/me/lab@sha256:{'a' * 64}"}}, id="artifact"),
    ],
)
def test_only_the_container_that_fetches_a_tree_sees_its_secret(source: dict[str, dict[str, Any]]) -> None:
    ((kind, fields),) = source.items()
    code = {"spec.code": {kind: {**fields, "credentialsSecret": {"name": "forge"}}}}
    for template in (head(cluster(code)), worker(cluster(code)), driver(code)):
        pod = template["spec"]
        assert {"name": "code-credentials", "secret": {"secretName": "forge"}} in pod["volumes"]
        (fetches,) = pod["initContainers"]
        mounts = {one["name"]: one for one in fetches["volumeMounts"]}
        assert mounts["code-credentials"]["mountPath"] == names.CODE_CREDENTIALS_MOUNT
        for container in pod["containers"]:
            assert "code-credentials" not in {one["name"] for one in container["volumeMounts"]}


@pytest.mark.parametrize(
    ("authority", "volume"),
    [
        pytest.param({"configMap": "lab-ca"}, {"configMap": {"name": "lab-ca"}}, id="ConfigMap"),
        pytest.param({"secret": "lab-ca", "key": "ca.pem"}, {"secret": {"secretName": "lab-ca"}}, id="Secret"),
    ],
)
@pytest.mark.parametrize("role", ["head", "worker", "learner", "evaluator", "driver"])
def test_a_private_authority_is_mounted_where_code_is_fetched_and_nowhere_else(
    role: str, authority: dict[str, str], volume: Object
) -> None:
    git = {"repository": "https://git.lab/lab.git", "commit": "a" * 40}
    changes = {
        "spec.code": {"git": git, "certificateAuthority": authority},
        "spec.learners": LEARNERS,
        "spec.evaluation": {},
    }
    pods = worker_groups(cluster(changes))
    pod = {
        "head": head(cluster(changes)),
        "worker": worker(cluster(changes)),
        "learner": pods["learners"]["template"],
        "evaluator": pods["evaluators"]["template"],
        "driver": driver(changes),
    }[role]["spec"]
    assert {"name": "code-ca", **volume} in pod["volumes"]
    (fetches,) = pod["initContainers"]
    mount = {"name": "code-ca", "mountPath": names.CODE_AUTHORITY_MOUNT, "readOnly": True}
    assert mount in fetches["volumeMounts"]
    assert json.loads(fetches["env"][0]["value"])["certificateAuthority"] == {"key": "ca.crt", **authority}
    for container in pod["containers"]:
        assert "code-ca" not in {one["name"] for one in container["volumeMounts"]}


def test_containers_merge_by_name_and_the_users_fields_win() -> None:
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


def test_an_image_in_a_template_wins_and_code_is_still_fetched_by_the_image_of_the_fleet() -> None:
    code = {"archive": {"configMap": "tree", "sha256": "a" * 64}}

    def own_image(container: str) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": container, "image": "own:1"}]}}

    changes = {
        "spec.code": code,
        "spec.driver.template": own_image("driver"),
        "spec.workers.template": own_image("ray-worker"),
    }
    found = cluster(changes)
    for template in (driver(changes), worker(found)):
        (own,), (fetches,) = template["spec"]["containers"], template["spec"]["initContainers"]
        assert (own["image"], fetches["image"]) == ("own:1", "ghcr.io/you/cheetah:1.0")
    assert head(found)["spec"]["containers"][0]["image"] == "ghcr.io/you/cheetah:1.0"


def test_a_users_template_cannot_hide_a_pod_from_its_fleet() -> None:
    mine = {"metadata": {"labels": {names.FLEET_LABEL: "other", "team": "rl"}}}
    labels = driver({"spec.driver.template": mine})["metadata"]["labels"]
    assert labels[names.FLEET_LABEL] == "cheetah"
    assert labels["team"] == "rl"


def tolerations(template: dict[str, Any]) -> dict[str | None, int | None]:
    pod = driver({"spec.driver.template": template})["spec"]
    return {one.get("key"): one.get("tolerationSeconds") for one in pod["tolerations"]}


def test_pods_leave_a_lost_node_after_30_seconds() -> None:
    ours = {"node.kubernetes.io/not-ready": 30, "node.kubernetes.io/unreachable": 30}
    assert tolerations({}) == ours
    gpu = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    assert tolerations({"spec": {"tolerations": [gpu]}}) == {"nvidia.com/gpu": None, **ours}


def test_a_template_may_say_how_long_a_lost_node_is_tolerated() -> None:
    longer = {**UNREACHABLE, "tolerationSeconds": 600}
    assert tolerations({"spec": {"tolerations": [longer]}}) == {
        "node.kubernetes.io/unreachable": 600,
        "node.kubernetes.io/not-ready": 30,
    }
    assert tolerations({"spec": {"tolerations": [{"operator": "Exists"}]}}) == {None: None}


SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
OF_ALL = {"spec.priorityClassName": "batch", "spec.tolerations": [SPOT]}


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(head(cluster(OF_ALL)), id="head"),
        pytest.param(worker(cluster(OF_ALL)), id="worker"),
        pytest.param(driver(OF_ALL), id="driver"),
    ],
)
def test_priority_and_tolerations_of_the_fleet_are_those_of_each_pod(template: Object) -> None:
    pod = template["spec"]
    assert pod["priorityClassName"] == "batch"
    assert SPOT in pod["tolerations"]
    assert {one.get("tolerationSeconds") for one in pod["tolerations"]} == {None, 30}, (
        "lost nodes are left all the same"
    )


def test_a_template_has_its_own_priority_and_tolerations_instead() -> None:
    gpu = {"key": "nvidia.com/gpu", "operator": "Exists"}
    own = {"spec.driver.template": {"spec": {"priorityClassName": "urgent", "tolerations": [gpu]}}}
    pod = driver({**OF_ALL, **own})["spec"]
    assert pod["priorityClassName"] == "urgent"
    assert gpu in pod["tolerations"]
    assert SPOT not in pod["tolerations"]
    none = driver({**OF_ALL, "spec.driver.template": {"spec": {"priorityClassName": None, "tolerations": []}}})["spec"]
    assert "priorityClassName" not in none
    assert SPOT not in none["tolerations"]
    assert worker(cluster({**OF_ALL, **own}))["spec"]["priorityClassName"] == "batch"


def test_a_container_sees_no_gpu_that_only_its_sidecar_asks_for() -> None:
    sidecar = {"name": "sidecar", "image": "lab:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    template = driver({"spec.driver.template": {"spec": {"containers": [{"name": "driver"}, sidecar]}}})
    assert [one["name"] for one in template["spec"]["containers"]] == ["driver", "sidecar"]
    assert env(template)["NVIDIA_VISIBLE_DEVICES"] == "void"
