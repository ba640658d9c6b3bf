"""Small examples fit on a node with two cores, together with the operators."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.cluster.binaries import ROOT

from collectorfleet.cli.pods import children
from collectorfleet_api.manifests.files import load_file
from collectorfleet_api.packing.quantity import parse_quantity

SMALL = ["cartpole", "cartpole_job", "evaluation", "lock", "ppo_script", "ppo_trainer"]
# KubeRay's operator requests 100m, this operator 50m.
LEFT_BY_OPERATORS = Fraction(2) - parse_quantity("150m")


def cpus(template: dict[str, Any]) -> Fraction:
    """Return the CPUs that Kubernetes reserves for a pod. Init containers run one after another."""

    def requests(containers: str) -> list[Fraction]:
        found = [one.get("resources", {}).get("requests", {}) for one in template["spec"].get(containers, [])]
        return [parse_quantity(one.get("cpu", 0)) for one in found]

    return max([sum(requests("containers"), Fraction(0)), *requests("initContainers")])


def cpus_of_pods(child: dict[str, Any]) -> Fraction:
    match child["kind"]:
        case "RayCluster":
            groups = child["spec"]["workerGroupSpecs"]
            workers = sum((group["replicas"] * cpus(group["template"]) for group in groups), Fraction(0))
            return cpus(child["spec"]["headGroupSpec"]["template"]) + workers
        case "Job":
            return int(child["spec"].get("completions", 1)) * cpus(child["spec"]["template"])
        case _:
            return Fraction(0)


@pytest.mark.parametrize("example", SMALL)
def test_all_pods_fit_on_two_cores_beside_the_operators(example: str) -> None:
    (fleet,) = load_file(ROOT / "examples" / f"{example}.yaml").fleets
    total = sum(map(cpus_of_pods, children(fleet)))
    assert Fraction(1, 2) < total <= LEFT_BY_OPERATORS
