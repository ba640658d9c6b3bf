"""What a driver may do."""

from __future__ import annotations

from tests.unit.collectorfleet_operator.children.fleets import driver, fleet

from collectorfleet_operator.children.role import role
from collectorfleet_operator.children.role_binding import role_binding
from collectorfleet_operator.children.service_account import service_account
from collectorfleet_operator.objects import Object


def test_a_driver_may_touch_nothing_but_its_own_fleet_lease_and_timeline() -> None:
    assert role(fleet())["rules"] == [
        _rule("collectorfleet.dev", "collectorfleets", "cheetah", "get"),
        _rule("collectorfleet.dev", "collectorfleets/status", "cheetah", "patch"),
        _rule("coordination.k8s.io", "leases", "cheetah-driver", "get", "patch"),
        _rule("", "configmaps", "cheetah-timeline", "get", "patch"),
    ]
    assert role_binding(fleet())["roleRef"]["name"] == role(fleet())["metadata"]["name"]
    (subject,) = role_binding(fleet())["subjects"]
    assert subject["name"] == service_account(fleet())["metadata"]["name"]
    assert driver()["spec"]["serviceAccountName"] == subject["name"]


def test_a_driver_with_an_account_of_the_users_has_its_rights_too() -> None:
    changes = {"spec.driver.template": {"spec": {"serviceAccountName": "reads-a-bucket"}}}
    assert driver(changes)["spec"]["serviceAccountName"] == "reads-a-bucket"
    (subject,) = role_binding(fleet(changes))["subjects"]
    assert subject["name"] == "reads-a-bucket"


def _rule(group: str, resource: str, name: str, *verbs: str) -> Object:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": list(verbs)}
