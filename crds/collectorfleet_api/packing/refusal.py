"""An answer of packing that is no packing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """Why no pod can hold what was asked for, with the numbers."""

    field: str
    message: str
