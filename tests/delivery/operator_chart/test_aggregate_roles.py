"""templates/aggregate-roles.yaml: who has Kubernetes' view and edit may see and change fleets."""

from __future__ import annotations

import pytest
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.rendering import FULL_NAME, Object, of_kind, rendered

from collectorfleet_api import names
from collectorfleet_api.schema.crd import crd

READS = {"get", "list", "watch"}
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


def roles(helm: Helm) -> tuple[Object, Object]:
    """view, edit"""
    found = {one["metadata"]["name"]: one for one in of_kind(rendered(helm), "ClusterRole")}
    return found[f"{FULL_NAME}-view"], found[f"{FULL_NAME}-edit"]


def verbs(role: Object, resource: str) -> set[str]:
    return {verb for rule in role["rules"] if resource in rule["resources"] for verb in rule["verbs"]}


def served() -> list[str]:
    """The resource, and every subresource that the CRD serves."""
    subresources = {name for version in crd()["spec"]["versions"] for name in version["subresources"]}
    assert subresources == {"status", "scale"}
    return [names.PLURAL, *(f"{names.PLURAL}/{name}" for name in sorted(subresources))]


def test_view_sees_everything_that_is_served_and_changes_nothing(helm: Helm) -> None:
    view, _ = roles(helm)
    assert {resource for rule in view["rules"] for resource in rule["resources"]} == set(served())
    for resource in served():
        assert "get" in verbs(view, resource)
        assert verbs(view, resource) <= READS
    assert verbs(view, names.PLURAL) == READS


def test_edit_changes_what_users_write_and_not_the_status(helm: Helm) -> None:
    _, edit = roles(helm)
    assert verbs(edit, names.PLURAL) == WRITES
    assert verbs(edit, f"{names.PLURAL}/scale") == {"update", "patch"}
    assert verbs(edit, f"{names.PLURAL}/status") == set()


def test_they_are_of_the_group_that_is_served(helm: Helm) -> None:
    for role in roles(helm):
        assert [rule["apiGroups"] for rule in role["rules"]] == [[names.GROUP]] * len(role["rules"])


@pytest.mark.parametrize("off", ["rbac.create=false", "rbac.aggregateClusterRoles=false", "watchNamespaces={a}"])
def test_they_are_left_out(helm: Helm, off: str) -> None:
    found = [one["metadata"]["name"] for one in of_kind(rendered(helm, "--set", off), "ClusterRole")]
    assert found == ([FULL_NAME] if off.startswith("rbac.aggregate") else [])
