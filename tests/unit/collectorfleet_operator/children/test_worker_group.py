"""The pods that hold collectors."""

from __future__ import annotations

from tests.unit.collectorfleet_operator.children.fleets import cluster, env, group, worker

from collectorfleet_operator.children.worker_group import collectors_per_pod


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


def test_workers_import_torch_before_a_collector_asks() -> None:
    assert env(worker(cluster()))["RAY_preload_python_modules"] == "torch,torchrl.collectors"
    assert env(worker(cluster()))["RAY_enable_worker_prestart"] == "1"
