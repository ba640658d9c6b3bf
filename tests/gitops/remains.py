"""What a removed fleet may leave behind: nothing that runs."""

from __future__ import annotations

from tests.cluster.client import Client
from tests.wait import eventually


def wait_gone(cluster: Client, namespace: str, fleet: str = "cfleet/fleet") -> None:
    """Block until a fleet, its Job, its RayCluster and every pod of the namespace are gone."""
    cluster.wait_gone(fleet, namespace)
    for kind in ("job", "raycluster", "pod"):
        eventually(
            lambda kind=kind: cluster.items(kind, namespace),  # type: ignore[misc]
            until=lambda found: found == [],
            within=90,
            what=f"no {kind}",
        )
