"""Where a loop of our own would not give TorchRL's frames."""

from __future__ import annotations

from typing import Any


class NotExact(Exception):
    """Rollouts would not be TorchRL's, entry by entry, or nobody has shown that they are; the text says why."""


def require(holds: Any, why: str) -> None:
    """Raises :class:`NotExact` unless it ``holds``."""
    if not holds:
        raise NotExact(why)
