"""How much room the object store has."""

from __future__ import annotations

from typing import Final

import ray

# The rest is for weights, for what is copied at the moment, and for what Ray itself keeps.
_SHARE_FOR_BATCHES: Final = 0.4


def room_for_batches() -> int | None:
    """Bytes that batches under way may take in the store of this process's node; None if Ray does not say."""
    here = ray.get_runtime_context().get_node_id()
    for node in ray.nodes():
        if node["NodeID"] == here:
            size = node["Resources"].get("object_store_memory")
            return int(size * _SHARE_FOR_BATCHES) if size else None
    return None
