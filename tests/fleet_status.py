"""Read the status of a fleet that an API server stores."""

from __future__ import annotations

import re

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


def agrees_with_log(status: Object, log: str) -> None:
    """Assert that a status has the versions that the driver's log names as published, and as applied by each collector.

    A collector that was built only after the last batch has applied no version.
    """
    assert status["weights"]["published"] == max(int(v) for v in re.findall(r"published version (\d+)", log))
    versions = {
        row["name"]: [int(v) for v in re.findall(rf"{row['name']} applied version (\d+)", log)]
        for row in status["collectors"]
    }
    assert any(versions.values())
    assert {row["name"]: row.get("appliedVersion") for row in status["collectors"]} == {
        name: max(applied, default=None) for name, applied in versions.items()
    }
