"""The operator's client alone, against a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest
from kubernetes.aio.config import kube_config
from tests.cluster.control_plane import ControlPlane
from tests.combinations.parts import JOB
from tests.integration.operator_process import kubeconfig
from tests.manifests import fleet

from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.children.role_binding import ROLE_BINDING
from collectorfleet_operator.children.table import Child, manifests
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.errors import ConflictError
from collectorfleet_operator.objects import Key, Object, metadata, uid_of

T = TypeVar("T")


@pytest.fixture
def ask(
    control_plane: ControlPlane, fleet_crd: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[Kube], Awaitable[T]]], T]:
    """With the operator's rights."""
    # Which is read when it is imported.
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(kubeconfig(control_plane, tmp_path)))

    def run(what: Callable[[Kube], Awaitable[T]]) -> T:
        async def connected() -> T:
            async with Kube.connect(aiohttp.TraceConfig()) as kube:
                return await what(kube)

        return asyncio.run(connected())

    return run


# What a fleet without Ray has.
BESIDES = [row for row in manifests(fleet(JOB)) if row not in manifests(fleet())]


def owned(namespace: str, changes: dict[str, Any] | None = None) -> CollectorFleet:
    found = fleet({"spec.networkPolicy": {}, **(changes or {})})
    uid = "00000000-0000-4000-8000-000000000000"
    return found.model_copy(update={"metadata": found.metadata.model_copy(update={"namespace": namespace, "uid": uid})})


@pytest.mark.parametrize("row", [*manifests(owned("lab")), *BESIDES], ids=str)
def test_what_is_made_anew_is_made_only_where_there_is_nothing_of_its_name(
    ask: Callable[[Callable[[Kube], Awaitable[Object]]], Object], namespace: str, row: Child
) -> None:
    children = manifests(owned(namespace, {} if row not in BESIDES else JOB))
    kind = row.kind
    for child in children.values():
        # Of an owner that is not there, it would be collected meanwhile.
        del child["metadata"]["ownerReferences"]
    manifest = children[row]
    if kind == ROLE_BINDING:
        # Nobody can bind what is not there.
        role = next(made for child, made in children.items() if child.kind == ROLE)
        ask(lambda kube: kube.apply_new(ROLE, role))
    made = ask(lambda kube: kube.apply_new(kind, manifest))
    # It is applied: a later apply takes out what it does not have any more.
    assert [one["operation"] for one in metadata(made)["managedFields"]] == ["Apply"]
    other = {**manifest, "metadata": {**manifest["metadata"], "labels": {"other": "one"}}}
    with pytest.raises(ConflictError):
        ask(lambda kube: kube.apply_new(kind, other))
    # Of its own fields it knows no other one either.
    applied = ask(lambda kube: kube.apply(kind, other))
    assert uid_of(applied) == uid_of(made)
    assert metadata(applied)["labels"] == {"other": "one"}


def test_a_pod_that_is_not_worth_waiting_for_has_little_time_to_end(
    ask: Callable[[Callable[[Kube], Awaitable[None]]], None], control_plane: ControlPlane, namespace: str
) -> None:
    # Of a node, or nobody would be waited for.
    spec = {"nodeName": "node1", "containers": [{"name": "ray", "image": "example.invalid/ray"}]}
    control_plane.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker"}, "spec": spec}, namespace)
    uid, key = uid_of(control_plane.get("pod/worker", namespace)), Key(namespace, "worker")
    ask(lambda kube: kube.delete(POD, key, uid, grace_seconds=1))
    assert control_plane.get("pod/worker", namespace)["metadata"]["deletionGracePeriodSeconds"] == 1
    ask(lambda kube: kube.delete(POD, key, uid, force=True))
    assert control_plane.find("pod/worker", namespace) is None
