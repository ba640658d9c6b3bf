"""The three transports and TorchRL's three classes, made from the same arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

COLLECTORS: Final = 2
# The sides that need Ray.
WITH_RAY: Final = ("object_store", "RayCollector")


def _ours(transport: str, env: Any, policy: Any, frames: int, *, sync: bool) -> Any:
    from collectorfleet import FleetCollector

    return FleetCollector(
        [env] * COLLECTORS, policy, frames_per_batch=frames, total_frames=-1, sync=sync, transport=transport
    )


def _theirs(name: str, env: Any, policy: Any, frames: int, *, sync: bool) -> Any:
    from torchrl.collectors import distributed

    only: dict[str, Any] = {"launcher": "mp"}
    if name == "RayCollector":
        only = {"remote_configs": {"num_cpus": 1, "num_gpus": 0}}
    # With -1, which is documented as endless, TorchRL's classes collect nothing.
    return getattr(distributed, name)(
        [env] * COLLECTORS, policy, frames_per_batch=frames, total_frames=10**12, sync=sync, **only
    )


OURS: Final = ("object_store", "torch_distributed", "rpc")
THEIRS: Final = ("RayCollector", "DistributedCollector", "RPCCollector")
# The transport that replaces each of TorchRL's classes.
BESIDE: Final = dict(zip(THEIRS, OURS, strict=True))
MAKE: Final[dict[str, Callable[..., Any]]] = {
    **{name: partial(_ours, name) for name in OURS},
    **{name: partial(_theirs, name) for name in THEIRS},
}
