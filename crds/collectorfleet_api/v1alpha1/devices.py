"""The devices of a collector's tensors."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.types import Device


class Devices(Model):
    """The device arguments of TorchRL's collectors. An absent field is None in TorchRL."""

    device: Device | None = Field(
        default=None,
        description=(
            "Device of environment, policy and batches. `envDevice`, `policyDevice` and `storingDevice` override it."
        ),
    )
    storing_device: Device | None = Field(default=None, description="Device on which a collector stores its frames.")
    env_device: Device | None = Field(default=None, description="Device of the environment.")
    policy_device: Device | None = Field(default=None, description="Device of the policy.")

    @property
    def named(self) -> dict[str, str]:
        """Return the devices that are set, by their names in manifests."""
        return {name: value for name, value in self.to_wire().items() if isinstance(value, str)}
