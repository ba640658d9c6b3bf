"""The type of options that name a device of torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch

from collectorfleet.option_ranges import shown


@dataclass(frozen=True)
class KnownDevice:
    """A limit that allows the devices that torch can name. A collector's machine may lack such a device."""

    def problem(self, value: torch.device | str | int) -> str | None:
        """Return why ``value`` is not a device, or None."""
        try:
            device = torch.device(value)
        except (RuntimeError, ValueError):
            device = None
        # For a large index, torch returns another device: 'cuda:44' for 'cuda:300'. So compare the result.
        same = device is not None and value in (device, str(device), device.index)
        return None if same else f"{shown(value)} is not a device; use a device such as 'cpu', 'cuda:1' or 1"


Device = Annotated[torch.device | str | int, KnownDevice()]
