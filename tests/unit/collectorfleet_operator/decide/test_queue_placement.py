"""The nodes on which pods of an admitted fleet may run, by the flavors of its quota and by admission checks."""

from __future__ import annotations

from tests.unit.collectorfleet_operator.decide.queued import SPOT, admitted, check, with_quota
from tests.unit.collectorfleet_operator.world import DRIVER, kinds, told

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.deadlines import LOOK_FOR_MISSING_AFTER


def test_an_admitted_fleet_is_made_at_once_where_the_flavors_say() -> None:
    world = with_quota()
    made = kinds(world.carry_out())
    assert "Create Job" in made
    assert "Create RayCluster" in made
    cluster = world.get(RAYCLUSTER)["spec"]
    templates = [
        world.get(JOB, DRIVER)["spec"]["template"],
        cluster["headGroupSpec"]["template"],
        cluster["workerGroupSpecs"][0]["template"],
    ]
    for template in templates:
        assert template["spec"]["nodeSelector"] == {"pool": "spot"}
        assert SPOT["spec"]["tolerations"][0] in template["spec"]["tolerations"]
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[:2] == ("True", "Admitted")


def test_what_admission_checks_add_goes_to_the_pods_that_they_name() -> None:
    world = with_quota()
    update = {"name": "driver", "nodeSelector": {"made-for": "cheetah"}, "annotations": {"provisioned": "yes"}}
    check(world, {"name": "nodes", "state": "Ready", "podSetUpdates": [update]})
    world.carry_out()
    driver = world.get(JOB, DRIVER)["spec"]["template"]
    assert driver["spec"]["nodeSelector"] == {"pool": "spot", "made-for": "cheetah"}
    assert driver["metadata"]["annotations"]["provisioned"] == "yes"
    assert "made-for" not in world.get(RAYCLUSTER)["spec"]["headGroupSpec"]["template"]["spec"]["nodeSelector"]


def test_nothing_starts_on_a_flavor_that_does_not_exist() -> None:
    world = with_quota()
    world.flavors.clear()
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[2] == "LocalQueue team: ResourceFlavor spot does not exist"
    # The operator does not watch flavors, so it has to look again.
    assert world.plan().again_after == LOOK_FOR_MISSING_AFTER
    world.flavors["spot"] = SPOT
    assert "Create Job" in kinds(world.carry_out())
    assert world.plan().again_after != LOOK_FOR_MISSING_AFTER


def test_what_runs_is_left_as_it_is_while_nobody_knows_where_its_pods_may_be() -> None:
    world = admitted()
    world.flavors.clear()
    assert world.plan().actions == ()
    assert world.restarted().plan(why_no_queues="the operator serves no queues").actions == ()
