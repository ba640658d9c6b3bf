"""Missing objects of a fleet are created, and changed objects are corrected."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, kinds, running

from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.propagation import Propagation
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.children.role_binding import ROLE_BINDING
from collectorfleet_operator.children.service_account import SERVICE_ACCOUNT

# The objects of a run besides its Job.
OWN = [(RAYCLUSTER, KEY), (ROLE, DRIVER), (ROLE_BINDING, DRIVER), (SERVICE_ACCOUNT, DRIVER), (LEASE, DRIVER)]


def test_a_changed_label_of_a_fleet_reaches_its_children_and_ends_no_pod() -> None:
    world = running({"metadata.labels": {"team": "rl"}})
    given = {"propagation": Propagation(labels=("team",))}
    updated = kinds(world.carry_out(**given))
    assert "Update RayCluster" in updated
    assert all(one.startswith("Update ") for one in updated)
    # A changed Job would end the driver's pod.
    assert "Update Job" not in updated
    assert world.plan(**given).actions == ()
    template = world.get(RAYCLUSTER)["spec"]["headGroupSpec"]["template"]
    assert template["metadata"]["labels"]["team"] == "rl"


def test_what_somebody_removed_is_made_again() -> None:
    world = running()
    world.collect(world.get(ROLE, DRIVER))
    assert kinds(world.carry_out()) == ["Create Role"]


def test_a_cluster_that_somebody_changed_is_put_right() -> None:
    world = running()
    cluster = world.get(RAYCLUSTER)
    cluster["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] = "8"
    world.store(cluster)
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert world.get(RAYCLUSTER)["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


def test_defaults_that_the_api_server_added_are_left_alone() -> None:
    world = running()
    cluster = world.get(RAYCLUSTER)
    cluster["spec"]["headGroupSpec"]["template"]["spec"]["dnsPolicy"] = "ClusterFirst"
    world.store(cluster)
    assert world.carry_out() == ()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"spec.image": "ghcr.io/you/cheetah:2.0"}, id="held"),
        pytest.param({"spec.collectors.resources": {"gpu": 1.5}}, id="invalid"),
        pytest.param({"spec.collection": 7}, id="unreadable"),
    ],
)
def test_what_belongs_to_a_run_is_tended_as_it_was_started(changes: dict[str, Any]) -> None:
    world = running()
    before = {kind: world.get(kind, key)["metadata"].get("annotations") for kind, key in OWN}
    world.edit(changes)
    assert world.carry_out() == ()
    for kind, key in OWN:
        world.collect(world.get(kind, key))
        if kind == RAYCLUSTER:
            world.collect(*world.pods("head"), *world.pods("worker"))
            # The driver fails without its RayCluster, so it gets another Job first.
            assert kinds(world.carry_out()) == ["Delete Job", "Create Job"]
        assert kinds(world.carry_out()) == [f"Create {kind.kind}"]
        assert world.get(kind, key)["metadata"].get("annotations") == before[kind]
