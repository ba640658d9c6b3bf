"""What Kueue admitted a fleet to, in the templates of its children."""

from __future__ import annotations

import copy
from typing import Any

from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.children.fleets import cluster, fleet, head, worker

from collectorfleet_operator.children.collectors_job import collectors_job
from collectorfleet_operator.children.driver_job import driver_job
from collectorfleet_operator.children.placement import Placement, placed, queue_of_job
from collectorfleet_operator.children.role import role
from collectorfleet_operator.objects import Object

SPOT = {"key": "spot", "operator": "Exists"}
TEAM = {"key": "team", "operator": "Exists"}
DRIVER = Placement({"pool": "driver"})
HEAD = Placement({"pool": "head"})
WORKERS = Placement({"pool": "spot"}, (SPOT,), {"zone": "a"}, {"provisioned": "yes"})
PLACEMENTS = {"driver": DRIVER, "head": HEAD, "workers-collectors": WORKERS}
# The user's own.
OWN: dict[str, Any] = {
    "spec.workers.template": {
        "metadata": {"labels": {"own": "label"}, "annotations": {"own": "annotation"}},
        "spec": {"nodeSelector": {"disk": "fast"}, "tolerations": [TEAM]},
    }
}


def pool(template: Object) -> str | None:
    found: str | None = template["spec"].get("nodeSelector", {}).get("pool")
    return found


def test_driver_head_and_workers_each_run_where_quota_was_found_for_them() -> None:
    made = placed(cluster(), "team", PLACEMENTS)
    assert (pool(head(made)), pool(worker(made))) == ("head", "spot")
    assert pool(placed(driver_job(fleet()), "team", PLACEMENTS)["spec"]["template"]) == "driver"


def test_the_job_of_collectors_without_ray_runs_where_the_workers_do() -> None:
    made = placed(collectors_job(fleet(WITHOUT_RAY)), "team", PLACEMENTS)
    assert pool(made["spec"]["template"]) == "spot"


def test_a_placement_is_added_to_what_the_user_wrote() -> None:
    template = worker(placed(cluster(OWN), "team", PLACEMENTS))
    assert template["spec"]["nodeSelector"] == {"disk": "fast", "pool": "spot"}
    assert [template["spec"]["tolerations"].count(one) for one in (TEAM, SPOT)] == [1, 1]
    labels, annotations = template["metadata"]["labels"], template["metadata"]["annotations"]
    assert (labels["own"], labels["zone"]) == ("label", "a")
    assert (annotations["own"], annotations["provisioned"]) == ("annotation", "yes")


def test_a_toleration_that_the_user_wrote_is_there_once() -> None:
    placement = {"workers-collectors": Placement(tolerations=(TEAM, SPOT))}
    before, after = (
        worker(made)["spec"]["tolerations"] for made in (cluster(OWN), placed(cluster(OWN), "", placement))
    )
    assert after == [*before, SPOT]


def test_pods_for_which_nothing_was_said_and_other_children_stay_as_they_are() -> None:
    for made in (cluster(), role(fleet())):
        assert placed(made, "team", {}) == made


def test_the_manifest_itself_stays_as_it_is() -> None:
    made = cluster(OWN)
    before = copy.deepcopy(made)
    placed(made, "team", PLACEMENTS)
    assert made == before


def test_a_job_keeps_the_queue_that_it_was_started_by() -> None:
    job = driver_job(fleet())
    assert queue_of_job(job) == ""
    assert queue_of_job(placed(job, "team", {})) == "team"


def test_two_equal_placements_are_one() -> None:
    assert Placement({"pool": "spot"}) == Placement({"pool": "spot"})
    assert Placement() == Placement({}, (), {}, {})
