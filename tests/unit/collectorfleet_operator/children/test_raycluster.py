"""The RayCluster that a fleet becomes."""

from __future__ import annotations

import pytest
from tests.combinations.parts import EVALUATION, LEARNERS
from tests.unit.collectorfleet_operator.children.fleets import cluster, fleet, head

from collectorfleet_api import names
from collectorfleet_api.v1alpha1.update_strategy import UpdateStrategyType
from collectorfleet_operator.children.group_sizes import worker_groups
from collectorfleet_operator.children.raycluster import raycluster


def test_the_head_gives_collectors_nothing_to_run_on() -> None:
    params = cluster()["spec"]["headGroupSpec"]["rayStartParams"]
    assert params["num-cpus"] == params["num-gpus"] == "0"
    assert params["system-config"] == "'{\"free_objects_period_milliseconds\": 100}'"


def test_ray_checks_tokens_and_pods_hold_none_of_kubernetes() -> None:
    made = cluster({"spec.evaluation": EVALUATION, "spec.learners": LEARNERS})
    assert made["spec"]["authOptions"] == {"mode": "token"}
    of_groups = [one["template"] for one in worker_groups(made).values()]
    assert len(of_groups) == 3
    for template in (head(made), *of_groups):
        assert template["spec"]["automountServiceAccountToken"] is False


def test_a_cluster_is_deleted_with_its_fleet() -> None:
    (owner,) = cluster()["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == ("u-1", True)


def test_all_collectors_of_a_fleet_are_in_one_group() -> None:
    assert list(worker_groups(cluster())) == [names.WORKER_GROUP]


def test_a_spec_that_no_pod_can_hold_is_not_built() -> None:
    with pytest.raises(ValueError, match="more than one GPU and not whole"):
        raycluster(fleet({"spec.collectors.resources.gpu": 1.5}))


@pytest.mark.parametrize("strategy", list(UpdateStrategyType), ids=str)
def test_kuberay_is_not_asked_to_delete_all_pods_of_a_changed_spec(strategy: UpdateStrategyType) -> None:
    # With upgradeStrategy: Recreate it would delete all of them; the operator replaces a few at a time.
    made = cluster({"spec.updateStrategy": {"type": strategy.value}})
    assert "upgradeStrategy" not in made["spec"]
