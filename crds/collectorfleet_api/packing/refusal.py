"""The result of packing if the request cannot be packed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """The reason why pods cannot have the requested resources, with the numbers."""

    field: str
    message: str
