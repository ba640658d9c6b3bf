"""Where the pods of a fleet run."""

from __future__ import annotations

from typing import Any

_LOST = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def on(node: str, patience_seconds: int | None = None) -> dict[str, Any]:
    """A pod template that prefers a node and does without it; it stays on one that is lost for so long."""
    wanted = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    preferred = [{"weight": 100, "preference": wanted}]
    spec: dict[str, Any] = {
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    }
    if patience_seconds is not None:
        tolerated = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": patience_seconds}
        spec["tolerations"] = [{"key": key, **tolerated} for key in _LOST]
    return {"spec": spec}
