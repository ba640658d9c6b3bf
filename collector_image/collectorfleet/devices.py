"""The type of options that name a device of torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch

from collectorfleet.option_ranges import shown


@dataclass(frozen=True)
class KnownDevice:
    """Devices that torch knows. The machine of a collector may lack the device."""

    def problem(self, value: torch.device | str | int) -> str | None:
        """Return why ``value`` is not a device, or None."""
        try:
            device = torch.device(value)
        except (RuntimeError, ValueError):
            device = None
        # torch wraps large numbers: its device 'cuda:300' is 'cuda:44'.
        same = device is not None and value in (device, str(device), device.index)
        return None if same else f"{shown(value)} is not a device; use a device such as 'cpu', 'cuda:1' or 1"


Device = Annotated[torch.device | str | int, KnownDevice()]
