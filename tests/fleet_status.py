"""Read the status of a fleet that an API server stores."""

from __future__ import annotations

from tests.cluster.client import Object


def batches(fleet: Object) -> int:
    """Return the number of batches that the run has delivered."""
    return int(fleet["status"]["progress"]["batches"])


def is_in_step(fleet: Object) -> bool:
    """Return whether ``workload:train_and_keep`` has counted each delivered batch, except for the batch in progress.

    A report reads the metrics before the number of batches, so a report of a busy driver may have a larger difference.
    """
    progress = fleet["status"]["progress"]
    return bool(0 <= progress["batches"] - progress["metrics"]["kept"] <= 1)


def summary(fleet: Object) -> str:
    """Return the numbers of available and of all collectors, such as ``2/2``."""
    return str(fleet["status"]["progress"]["collectors"]["summary"])
