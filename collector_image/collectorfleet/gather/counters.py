"""What a gather has counted, for a later fleet to continue from."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from collectorfleet.codec import normalization as codec
from collectorfleet.errors import InvalidOption
from collectorfleet.gather.shared import Shared

log = logging.getLogger("collectorfleet")


def counters_of(shared: Shared) -> dict[str, Any]:
    """What a later fleet needs to go on from here; the caller holds the lock."""
    return {
        "frames": shared.gather.frames_handed_out,
        "batches": shared.statistics.batches,
        "version": shared.gather.version,
        "incarnations": shared.incarnations,
    }


def restore(shared: Shared, counters: Mapping[str, Any]) -> None:
    """Go on from ``counters``; raises InvalidOption if they are none, or batches were collected already."""
    if missing := {"frames", "version"} - counters.keys():
        raise InvalidOption(
            f"load_state_dict: the state has no {' and no '.join(sorted(missing))}; load what state_dict() returned"
        )
    with shared.changed:
        if shared.gather.begun:
            raise InvalidOption(
                f"load_state_dict: {shared.statistics.batches} batches were collected already; load before the first"
            )
        shared.gather.restored(int(counters["frames"]), int(counters["version"]))
        # Trajectory ids and seeds follow from it.
        shared.continued(int(counters.get("incarnations", 0)))
        shared.statistics.restore(int(counters["frames"]), int(counters.get("batches", 0)))
        try:
            dropped = shared.normalization.restored(codec.from_state(counters.get("normalization", {})))
        except ValueError as error:
            raise InvalidOption(f"load_state_dict: {error}") from error
        if dropped:
            log.warning("load_state_dict: the state has %s, but no environment has it", ", ".join(dropped))
