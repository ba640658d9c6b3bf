"""The memory of this process for batches that collectors send from other processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

# The remaining memory is for the batch in use, its copy, the policy and the learner.
_SHARE_FOR_BATCHES: Final = 0.4
# The files that have the container's limit, for cgroup versions 2 and 1. Version 2 writes `max` if there is no limit.
_LIMITS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def room_for_batches() -> int:
    """Return the number of bytes for batches in flight: a share of the container's or the machine's memory."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(min([machine, *filter(None, map(_limit, _LIMITS))]) * _SHARE_FOR_BATCHES)


def _limit(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
