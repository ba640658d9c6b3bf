"""The pods that hold collectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.unit.collectorfleet_operator.children.fleets import cluster, env, group, worker

from collectorfleet_operator.children.worker_group import collectors_per_pod
from collectorfleet_operator.objects import Object


def test_one_ray_cpu_is_one_collector() -> None:
    made = cluster({"spec.collectors": {"replicas": 16, "resources": {"cpu": 2, "gpu": 0.25}}})
    assert group(made)["replicas"] == 4
    params = group(made)["rayStartParams"]
    assert (params["num-cpus"], params["num-gpus"], params["resources"]) == ("4", "1", "'{\"collector\": 4}'")
    assert collectors_per_pod(group(made)) == 4
    container = worker(made)["spec"]["containers"][0]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert container["resources"]["requests"]["cpu"] == "8200m"
    assert "NVIDIA_VISIBLE_DEVICES" not in env(worker(made))


def test_pods_of_custom_resources_tell_ray_what_they_have() -> None:
    made = cluster(
        {
            "spec.collectors": {"replicas": 5, "resources": {"custom": {"license": 0.5}}},
            "spec.workers.customPerPod": {"license": 2, "disk": 1},
        }
    )
    assert group(made)["replicas"] == 2
    assert collectors_per_pod(group(made)) == 4
    assert json.loads(group(made)["rayStartParams"]["resources"].strip("'")) == {
        "collector": 4,
        "license": 2,
        "disk": 1,
    }


GPUS = {
    "Logical": {"perPod": 2},
    "MIG": {"mode": "MIG", "resource": "nvidia.com/mig-1g.10gb.me"},
    "TimeSlicing": {"mode": "TimeSlicing", "resource": "nvidia.com/gpu.shared"},
    "MPS": {"mode": "MPS"},
    "DRA": {"mode": "DRA", "claimTemplate": "one-h100"},
}


@pytest.mark.parametrize("mode", GPUS)
def test_pods_ask_for_gpus_as_recorded(mode: str) -> None:
    asked = {"spec.collectors.resources.gpu": 0.5, "spec.workers.gpu": GPUS[mode]}
    recorded = yaml.safe_load((Path(__file__).parent / "gpus.yaml").read_text())
    assert asked_for_gpus(group(cluster(asked))) == recorded[mode]


def asked_for_gpus(made: Object) -> Object:
    """The parts of a worker group that say anything of GPUs."""
    pod = made["template"]["spec"]
    first = pod["containers"][0]
    found = {
        "replicas": made["replicas"],
        "num-cpus": made["rayStartParams"]["num-cpus"],
        "num-gpus": made["rayStartParams"]["num-gpus"],
        "limits": {name: value for name, value in first["resources"]["limits"].items() if name != "memory"},
        "claims": first["resources"].get("claims"),
        "resourceClaims": pod.get("resourceClaims"),
    }
    return {key: value for key, value in found.items() if value is not None}


def test_with_mode_none_the_template_says_what_pods_get() -> None:
    template = {
        "metadata": {"annotations": {"gpu-fraction": "0.5"}, "labels": {"kai.scheduler/queue": "lab"}},
        "spec": {"schedulerName": "kai-scheduler"},
    }
    asked = {"spec.collectors.resources.gpu": 0.25, "spec.workers": {"gpu": {"mode": "None"}, "template": template}}
    made = group(cluster(asked))
    assert asked_for_gpus(made) == {"replicas": 1, "num-cpus": "4", "num-gpus": "1", "limits": {}}
    pod = made["template"]
    assert pod["metadata"]["annotations"]["gpu-fraction"] == "0.5"
    assert pod["metadata"]["labels"]["kai.scheduler/queue"] == "lab"
    assert pod["spec"]["schedulerName"] == "kai-scheduler"
    # Where the container asks for none itself, it must not be told to see none.
    assert "NVIDIA_VISIBLE_DEVICES" not in env(pod)


def test_workers_import_torch_before_a_collector_asks() -> None:
    assert env(worker(cluster()))["RAY_preload_python_modules"] == "collectorfleet.preload"
    assert env(worker(cluster()))["RAY_enable_worker_prestart"] == "1"


def test_a_collector_knows_its_pod_by_its_own_name_whatever_its_host_is_called() -> None:
    made = worker(cluster({"spec.workers.template": {"spec": {"hostNetwork": True}}}))
    (container,) = made["spec"]["containers"]
    (own,) = [one for one in container["env"] if one["name"] == "COLLECTORFLEET_POD"]
    assert own["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
