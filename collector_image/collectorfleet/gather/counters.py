"""Save the counts of a gather, and continue a later gather from these counts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from collectorfleet.codec import normalization as codec
from collectorfleet.errors import InvalidOption
from collectorfleet.gather.shared import Shared
from collectorfleet_api.counts import counted

log = logging.getLogger("collectorfleet")


def counters_of(shared: Shared) -> dict[str, Any]:
    """Return the counts from which a later fleet can continue. The caller holds the lock."""
    return {
        "frames": shared.gather.frames_handed_out,
        "batches": shared.statistics.batches,
        "version": shared.gather.version,
        "incarnations": shared.incarnations,
    }


def restore(shared: Shared, counters: Mapping[str, Any]) -> None:
    """Continue from ``counters``.

    Raises:
        InvalidOption: ``counters`` is incomplete, a batch was already requested, or the saved normalization does not
            fit the environments.
    """
    if missing := {"frames", "version"} - counters.keys():
        raise InvalidOption(
            f"load_state_dict: the state has no {' and no '.join(sorted(missing))}; load what state_dict() returned"
        )
    with shared.changed:
        if shared.gather.begun:
            raise InvalidOption(
                f"load_state_dict: {counted(shared.statistics.batches, 'batch was', 'batches were')} collected "
                "already; load the state before the first batch"
            )
        shared.gather.restored(int(counters["frames"]), int(counters["version"]))
        # The number of earlier incarnations is needed, because trajectory ids and seeds depend on this number.
        shared.continued(int(counters.get("incarnations", 0)))
        shared.statistics.restore(int(counters["frames"]), int(counters.get("batches", 0)))
        try:
            dropped = shared.normalization.restored(codec.from_state(counters.get("normalization", {})))
        except ValueError as error:
            raise InvalidOption(f"load_state_dict: {error}") from error
        if dropped:
            log.warning("load_state_dict: the state has %s, but no environment has it", ", ".join(dropped))
