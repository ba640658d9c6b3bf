"""Private names of TorchRL's schemes that send weights between processes."""

from __future__ import annotations

from typing import Any

from torchrl.weight_update import RayWeightSyncScheme
from torchrl.weight_update.utils import _weight_tensor_signature as weight_signature

__all__ = ["weight_signature"]  # Names, shapes and dtypes of weights, as a learner compares them.


def actor_of(service: Any) -> Any:
    """Return the Ray actor of TorchRL's inference service: the scheme calls actors."""
    return service._actor


def join_when_sent(scheme: RayWeightSyncScheme) -> None:
    """Have a learner connect the receivers when it sends for the first time: no collector connects them."""
    scheme._manage_receiver_connect = True
