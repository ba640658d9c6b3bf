"""templates/rbac.yaml: rights in the whole cluster, or in each namespace that is served."""

from __future__ import annotations

from tests.cluster.client import Object
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.rendering import FULL_NAME, NAMESPACE, of_kind, only, rendered

CLUSTER_WIDE = ("ClusterRole", "ClusterRoleBinding")
SUBJECT = {"kind": "ServiceAccount", "name": FULL_NAME, "namespace": NAMESPACE}


def test_the_whole_cluster_is_served_by_one_cluster_role(helm: Helm) -> None:
    objects = rendered(helm, rbac={"create": True, "aggregateClusterRoles": False})
    role, binding = (only(objects, kind) for kind in CLUSTER_WIDE)
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": role["metadata"]["name"],
    }
    assert binding["subjects"] == [SUBJECT]
    assert of_kind(objects, "Role") == []


def test_each_served_namespace_has_a_role_with_the_same_rights(helm: Helm) -> None:
    objects = rendered(helm, watchNamespaces=["a", "b"])
    (everywhere,) = (one for one in of_kind(rendered(helm), "ClusterRole") if one["metadata"]["name"] == FULL_NAME)
    roles, bindings = (_served(objects, kind) for kind in ("Role", "RoleBinding"))
    for found in (roles, bindings):
        assert [one["metadata"]["namespace"] for one in found] == ["a", "b"]
    assert [role["rules"] for role in roles] == [everywhere["rules"]] * 2
    assert [(one["roleRef"]["kind"], one["subjects"]) for one in bindings] == [("Role", [SUBJECT])] * 2


def test_a_namespaced_operator_may_hold_its_own_lease_and_no_other_of_its_namespace(helm: Helm) -> None:
    objects = rendered(helm, watchNamespaces=["a"])
    (role,) = (one for one in of_kind(objects, "Role") if one["metadata"]["namespace"] == NAMESPACE)
    assert {verb: rule.get("resourceNames") for rule in role["rules"] for verb in rule["verbs"]} == {
        "create": None,
        "get": [FULL_NAME],
        "patch": [FULL_NAME],
    }
    (binding,) = (one for one in of_kind(objects, "RoleBinding") if one["metadata"]["namespace"] == NAMESPACE)
    assert (binding["roleRef"]["name"], binding["subjects"]) == (role["metadata"]["name"], [SUBJECT])


def test_nothing_is_cluster_wide_but_the_crd_where_namespaces_are_named(helm: Helm) -> None:
    objects = rendered(helm, watchNamespaces=["a"])
    assert {one["kind"] for one in objects if "namespace" not in one["metadata"]} == {"CustomResourceDefinition"}


def test_rights_are_left_to_others_when_they_are_turned_off(helm: Helm) -> None:
    for watched in ([], ["a"]):
        objects = rendered(helm, "--set", "rbac.create=false", watchNamespaces=watched)
        assert {one["kind"] for one in objects} == {"CustomResourceDefinition", "Deployment", "ServiceAccount"}


def _served(objects: list[Object], kind: str) -> list[Object]:
    """Those of the namespaces that are served."""
    return [one for one in of_kind(objects, kind) if one["metadata"]["namespace"] != NAMESPACE]
