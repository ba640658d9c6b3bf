"""Private names of TorchRL's schemes that send weights between processes."""

from __future__ import annotations

from typing import Any

from torchrl.weight_update import RayWeightSyncScheme
from torchrl.weight_update.utils import _weight_tensor_signature as weight_signature

__all__ = ["weight_signature"]  # Names, shapes and dtypes of weights, which a learner compares.


def actor_of(service: Any) -> Any:
    """Return the Ray actor of TorchRL's inference service. TorchRL's scheme needs the actor itself."""
    return service._actor


def join_when_sent(scheme: RayWeightSyncScheme) -> None:
    """Make a learner connect the receivers when it first sends weights, because no collector connects them."""
    scheme._manage_receiver_connect = True
