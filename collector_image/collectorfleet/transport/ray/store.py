"""The capacity of Ray's object store."""

from __future__ import annotations

from typing import Final

import ray

# The remaining memory is for weights, for temporary copies, and for Ray itself.
_SHARE_FOR_BATCHES: Final = 0.4


def room_for_batches() -> int | None:
    """Return the bytes of this node's store that are for batches in flight, or None if Ray reports no size."""
    here = ray.get_runtime_context().get_node_id()
    for node in ray.nodes():
        if node["NodeID"] == here:
            size = node["Resources"].get("object_store_memory")
            return int(size * _SHARE_FOR_BATCHES) if size else None
    return None
