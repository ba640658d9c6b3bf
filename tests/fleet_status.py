"""Read the status of a fleet that an API server stores."""

from __future__ import annotations

from tests.cluster.client import Object


def batches(fleet: Object) -> int:
    """Return the number of batches that the run has delivered."""
    return int(fleet["status"]["progress"]["batches"])


def summary(fleet: Object) -> str:
    """Return the numbers of available and of all collectors, such as ``2/2``."""
    return str(fleet["status"]["progress"]["collectors"]["summary"])
