"""What one reconcile of a fleet writes, and what it leaves to others."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.edge.reconciled_fleet import ReconciledFleet
from tests.unit.collectorfleet_operator.world import COLLECTORS, DRIVER, KEY, World, kind_of, running

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.decide.deadlines import RETRY_REFUSED_AFTER
from collectorfleet_operator.edge.observe import children_of
from collectorfleet_operator.objects import Key, Kind, name_of


def test_somebody_elses_object_of_a_childs_name_stays_as_it_is() -> None:
    fleet = ReconciledFleet(World())
    theirs = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "cheetah-driver", "namespace": "default"}}
    fleet.kube.hidden[JOB] = theirs
    fleet.reconcile()
    assert fleet.reasons()["Stalled"] == "NameTaken"
    assert fleet.world.cache.get(JOB, DRIVER) is None


@pytest.mark.parametrize("launcher", [{}, WITHOUT_RAY], ids=["RayCluster", "Job"])
def test_what_a_deleted_fleet_left_without_an_owner_is_named_and_left_alone(launcher: dict[str, Any]) -> None:
    world = running(launcher)
    left = list(children_of(world.cache, KEY).values())
    for stored in left:
        stored["metadata"]["ownerReferences"] = []
    left = [world.store(stored) for stored in left]
    world.replace_fleet()
    fleet = ReconciledFleet(world)
    fleet.kube.hidden = {kind_of(stored): stored for stored in left}
    for _ in range(2):
        fleet.reconcile()
        assert fleet.reasons()["Stalled"] == "NameTaken"
        assert "is being deleted" not in json.dumps(fleet.status["conditions"])
    assert all(world.get(kind_of(one), Key(KEY.namespace, name_of(one))) == one for one in left)
    world.edit({**launcher, "spec.suspend": True})
    fleet.reconcile()
    assert fleet.status["phase"] == "Suspended"
    assert all(world.get(kind_of(one), Key(KEY.namespace, name_of(one))) == one for one in left)


@pytest.mark.parametrize(
    ("kind", "at", "type_"), [(JOB, DRIVER, "DriverRunning"), (RAYCLUSTER, KEY, "RayClusterReady")]
)
def test_one_object_without_an_owner_is_named_before_anything_is_made(kind: Kind, at: Key, type_: str) -> None:
    fleet = ReconciledFleet(World())
    left = running().get(kind, at)
    left["metadata"]["ownerReferences"] = []
    left = fleet.world.store(left)
    fleet.kube.hidden = {kind: left}
    for _ in range(2):
        fleet.reconcile()
        assert fleet.reasons()[type_] == "NameTaken"
        assert list(children_of(fleet.world.cache, KEY).values()) == [left]


def test_a_fleet_that_runs_keeps_its_size_for_autoscalers_while_an_update_is_refused() -> None:
    fleet = ReconciledFleet(running())
    fleet.kube.refused = {ROLE}
    fleet.world.store({**fleet.world.get(ROLE, DRIVER), "rules": []})
    assert fleet.reconcile() == RETRY_REFUSED_AFTER
    assert fleet.status["replicas"] == 4
    assert (fleet.reasons()["Ready"], fleet.reasons()["Stalled"]) == ("Collecting", "Refused")


def test_a_token_is_made_once_and_stays_when_its_job_is_made_again() -> None:
    fleet = ReconciledFleet(World(WITHOUT_RAY))
    fleet.reconcile()
    [(name, secret)] = fleet.kube.secrets.items()
    assert name == "cheetah-collectors-fleet-1"
    assert len(base64.b64decode(secret["data"][names.HOSTS_TOKEN_KEY])) == 64
    fleet.world.collect(fleet.world.get(JOB, COLLECTORS))
    fleet.reconcile()
    assert fleet.world.get(JOB, COLLECTORS)
    assert fleet.kube.secrets == {name: secret}


def test_a_pod_that_is_ignored_is_told_once() -> None:
    fleet = ReconciledFleet(World())
    labels = {names.FLEET_LABEL: KEY.name, names.ROLE_LABEL: "worker"}
    metadata = {"name": "stranger", "namespace": KEY.namespace, "labels": labels}
    fleet.world.store({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
    for _ in range(3):
        fleet.reconcile()
    assert [one for one in fleet.kube.events if one.startswith("PodIgnored")] == ["PodIgnored pod"]
