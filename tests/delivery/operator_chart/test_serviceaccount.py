"""templates/serviceaccount.yaml"""

from __future__ import annotations

import pytest
from tests.delivery.helm import Helm, HelmError
from tests.delivery.operator_chart.rendering import FULL_NAME, NAMESPACE, of_kind, only, pod, rendered


def test_the_account_is_made_for_the_release(helm: Helm) -> None:
    made = only(rendered(helm, "--set", r"serviceAccount.annotations.example\.com/role=fleets"), "ServiceAccount")
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == (FULL_NAME, NAMESPACE)
    assert made["metadata"]["annotations"] == {"example.com/role": "fleets"}


@pytest.mark.parametrize("create", [True, False], ids=["made", "there already"])
def test_the_account_that_is_named_is_used_and_has_the_rights(helm: Helm, create: bool) -> None:
    objects = rendered(helm, serviceAccount={"create": create, "name": "mine"})
    assert [one["metadata"]["name"] for one in of_kind(objects, "ServiceAccount")] == (["mine"] if create else [])
    assert pod(objects)["spec"]["serviceAccountName"] == "mine"
    assert only(objects, "ClusterRoleBinding")["subjects"][0]["name"] == "mine"


def test_the_account_of_every_other_pod_is_not_taken_by_leaving_out_a_name(helm: Helm) -> None:
    with pytest.raises(HelmError, match=r"serviceAccount\.name: is empty while serviceAccount.create is false"):
        rendered(helm, "--set", "serviceAccount.create=false")
