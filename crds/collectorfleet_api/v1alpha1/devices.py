"""Where a collector's tensors are."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.types import Device


class Devices(Model):
    """Devices as TorchRL's collectors take them; absent is None there."""

    device: Device | None = Field(
        default=None,
        description="Device of environment, policy and batches, unless another field here sets it.",
    )
    storing_device: Device | None = Field(default=None, description="Device on which a collector keeps its frames.")
    env_device: Device | None = Field(default=None, description="Device of the environment.")
    policy_device: Device | None = Field(default=None, description="Device of the policy.")

    @property
    def named(self) -> dict[str, str]:
        """Those that are given, by their name in manifests."""
        return {name: value for name, value in self.to_wire().items() if isinstance(value, str)}
