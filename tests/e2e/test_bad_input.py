"""What a user sees when something in the manifest or in their code is wrong: the original words, in a condition."""

from __future__ import annotations

from tests.cluster.client import Client, Object, condition
from tests.e2e import fleets


def stalled(fleet: Object) -> bool:
    return (condition(fleet, "Stalled") or {}).get("status") == "True"


def test_an_error_of_the_users_code_fails_the_fleet_once_with_its_own_words(cluster: Client, namespace: str) -> None:
    """One of an environment has the longest way; tests/run has the others, of imports and of training."""
    words = "no such game: Pong on the moon"
    cluster.apply([fleets.code(), fleets.fleet(environment="workload:broken_env")], namespace)
    failed = cluster.wait_for("cfleet/fleet", stalled, namespace, within=400)
    for name in ("Stalled", "Completed", "Ready"):
        found = condition(failed, name)
        assert found, name
        assert words in found["message"], found
    completed = condition(failed, "Completed")
    assert completed
    assert (completed["status"], completed["reason"]) == ("False", "Failed")
    assert failed["status"]["phase"] == "Failed"
    # Not looping: one driver pod, and the cluster that held resources is gone.
    cluster.wait_gone("raycluster/fleet", namespace, within=240)
    drivers = cluster.items("pods", namespace, "collectorfleet.dev/role=driver")
    assert len(drivers) == 1


def test_an_image_that_does_not_exist_is_named_in_the_condition_and_the_right_one_trains(
    cluster: Client, namespace: str
) -> None:
    cluster.apply([fleets.code(), fleets.fleet(image="example.invalid/nobody/nothing:1")], namespace)

    def names_the_image(fleet: Object) -> bool:
        ready = condition(fleet, "Ready") or {}
        return "example.invalid/nobody/nothing:1" in ready.get("message", "")

    seen = cluster.wait_for("cfleet/fleet", names_the_image, namespace, within=60)
    ready = condition(seen, "Ready")
    assert ready
    assert ready["status"] == "False"
    cluster.apply(fleets.fleet(kwargs={"batches": 3}), namespace)
    done = cluster.wait_for("cfleet/fleet", "Completed", namespace, within=400)
    assert done["status"]["progress"]["batches"] == 3
