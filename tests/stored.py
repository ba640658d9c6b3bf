"""Make stored weights for tests that play a transport."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from collectorfleet.messages import Stored


def stored(digest: str, size_bytes: int, handle: Any) -> Stored:
    """Return stored weights whose digest is known at once."""
    hashed: Future[str] = Future()
    hashed.set_result(digest)
    return Stored(hashed, size_bytes, handle)
