"""What a user sees when something in the manifest or in their code is wrong: the original words, in a condition."""

from __future__ import annotations

import pytest
from tests.cluster.client import Client, Object, condition
from tests.e2e import fleets


def stalled(fleet: Object) -> bool:
    return (condition(fleet, "Stalled") or {}).get("status") == "True"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"environment": "no_such_module:make_env"}, "No module named 'no_such_module'", id="import"),
        pytest.param({"environment": "workload:broken_env"}, "no such game: Pong on the moon", id="environment"),
        pytest.param({"train": "workload:train_fails"}, "loss is NaN at batch 3", id="train"),
    ],
)
def test_an_error_of_the_users_code_fails_the_fleet_once_with_its_own_words(
    cluster: Client, namespace: str, change: dict[str, str], words: str
) -> None:
    cluster.apply([fleets.code(), fleets.fleet(**change)], namespace)
    failed = cluster.wait_for("cfleet/fleet", stalled, namespace, within=180)
    for name in ("Stalled", "Completed", "Ready"):
        found = condition(failed, name)
        assert found, name
        assert words in found["message"], found
    completed = condition(failed, "Completed")
    assert completed
    assert (completed["status"], completed["reason"]) == ("False", "Failed")
    assert failed["status"]["phase"] == "Failed"
    # Not looping: one driver pod, and the cluster that held resources is gone.
    cluster.wait_gone("raycluster/fleet", namespace, within=60)
    drivers = cluster.items("pods", namespace, "collectorfleet.dev/role=driver")
    assert len(drivers) == 1


def test_an_image_that_does_not_exist_is_named_in_the_condition_and_the_right_one_trains(
    cluster: Client, namespace: str
) -> None:
    cluster.apply([fleets.code(), fleets.fleet(image="example.invalid/nobody/nothing:1")], namespace)

    def names_the_image(fleet: Object) -> bool:
        ready = condition(fleet, "Ready") or {}
        return "example.invalid/nobody/nothing:1" in ready.get("message", "")

    seen = cluster.wait_for("cfleet/fleet", names_the_image, namespace, within=30)
    ready = condition(seen, "Ready")
    assert ready
    assert ready["status"] == "False"
    cluster.apply(fleets.fleet(kwargs={"batches": 3}), namespace)
    done = cluster.wait_for("cfleet/fleet", "Completed", namespace, within=180)
    assert done["status"]["progress"]["batches"] == 3
