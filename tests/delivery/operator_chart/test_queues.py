"""templates/queues.yaml: what serving queues takes, and nothing of it where they are not served."""

from __future__ import annotations

import pytest
from tests.delivery.helm import Helm, HelmError
from tests.delivery.operator_chart.rendering import FULL_NAME, of_kind, only, rendered

GROUP = "kueue.x-k8s.io"
ON = {"kueue": {"enabled": True}}


def test_queues_are_off_unless_asked_for(helm: Helm) -> None:
    objects = rendered(helm)
    assert "--queues" not in only(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    rules = [rule for kind in ("ClusterRole", "Role") for one in of_kind(objects, kind) for rule in one["rules"]]
    assert not [rule for rule in rules if GROUP in rule["apiGroups"]]


@pytest.mark.parametrize("watched", [[], ["a"]], ids=["everywhere", "a namespace"])
def test_workloads_are_its_own_and_what_no_namespace_owns_is_read_by_name(helm: Helm, watched: list[str]) -> None:
    objects = rendered(helm, watchNamespaces=watched, **ON)
    assert "--queues" in only(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    (role,) = (
        one
        for one in of_kind(objects, "Role" if watched else "ClusterRole")
        if one["metadata"]["name"] == FULL_NAME and one["metadata"].get("namespace") in (None, *watched)
    )
    rights = {tuple(rule["resources"]): set(rule["verbs"]) for rule in role["rules"] if GROUP in rule["apiGroups"]}
    assert rights == {
        ("workloads",): {"get", "list", "watch", "create", "patch", "delete"},
        ("workloads/status",): {"patch"},
    }
    (read,) = (one for one in of_kind(objects, "ClusterRole") if one["metadata"]["name"] == f"{FULL_NAME}-queues")
    (rule,) = read["rules"]
    assert (rule["resources"], rule["verbs"]) == (["resourceflavors", "workloadpriorityclasses"], ["get"])


def test_the_argument_alone_is_refused(helm: Helm) -> None:
    with pytest.raises(HelmError, match=r"extraArgs: --queues needs further rights; set kueue.enabled"):
        rendered(helm, extraArgs=["--queues"])
