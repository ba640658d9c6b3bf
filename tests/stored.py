"""Weights in the store of a transport that the tests play."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from collectorfleet.messages import Stored


def stored(digest: str, size_bytes: int, handle: Any) -> Stored:
    """Hashed at once."""
    hashed: Future[str] = Future()
    hashed.set_result(digest)
    return Stored(hashed, size_bytes, handle)
