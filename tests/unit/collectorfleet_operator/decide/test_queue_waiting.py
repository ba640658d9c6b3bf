"""The message that says why a fleet in a queue has no quota yet."""

from __future__ import annotations

from tests.unit.collectorfleet_operator.decide.queued import check, label, queued, say, with_quota
from tests.unit.collectorfleet_operator.world import World, running, told

from collectorfleet_operator.children.workload import WORKLOAD


def why(world: World) -> str:
    """Return the message of ``Admitted`` without the name of the queue."""
    return told(world.look(), "Admitted")[2].removeprefix("LocalQueue team: ")


def test_a_fleet_whose_workload_is_not_made_says_so() -> None:
    world = World()
    label(world)
    assert why(world) == "the Workload of the fleet has not been created yet"


def test_a_fleet_that_follows_one_of_its_name_waits_for_the_pods_of_that() -> None:
    world = running()
    world.replace_fleet()
    label(world)
    assert why(world) == "pods of an earlier run are being deleted"


def test_a_workload_that_kueue_has_not_looked_at_waits_in_its_queue() -> None:
    world = queued()
    name = world.get(WORKLOAD)["metadata"]["name"]
    assert why(world) == f"Workload {name} waits in LocalQueue team"


def test_what_kueue_says_of_the_quota_is_told_in_its_words() -> None:
    world = queued()
    say(world, "QuotaReserved", "False", "Pending", "insufficient unused quota for cpu")
    assert why(world) == "insufficient unused quota for cpu"


def test_admission_checks_that_are_not_ready_are_named_once_quota_is_reserved() -> None:
    world = with_quota()
    say(world, "Admitted", "False")
    check(world, {"name": "nodes", "state": "Pending", "message": "2 nodes start"}, {"name": "cost", "state": "Ready"})
    text = why(world)
    assert text.startswith("quota is reserved, and admission checks are not ready (")
    assert "nodes" in text
    assert "cost" not in text
