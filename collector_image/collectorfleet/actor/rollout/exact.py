"""The error for rollouts that the fast loop cannot make exactly as TorchRL does."""

from __future__ import annotations

from typing import Any


class FastLoopUnsupported(Exception):
    """The fast loop's rollouts would differ from TorchRL's rollouts, or might differ. The text has the reason."""


def require(holds: Any, why: str) -> None:
    """Raise :class:`FastLoopUnsupported` with the reason ``why`` if ``holds`` is false."""
    if not holds:
        raise FastLoopUnsupported(why)
