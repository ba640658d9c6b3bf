"""Where the pods of a fleet run."""

from __future__ import annotations

from typing import Any


def on(node: str) -> dict[str, Any]:
    """A pod template that prefers a node and does without it."""
    wanted = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    preferred = [{"weight": 100, "preference": wanted}]
    return {
        "spec": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}},
    }
