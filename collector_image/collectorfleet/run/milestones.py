"""One line of log for each step of the start, with its time: ``milestone imports 1763712000.123``.

Benchmarks and people read them to see where a start spends its time.
"""

from __future__ import annotations

import logging
import time
from enum import StrEnum

log = logging.getLogger(__name__)


class Milestone(StrEnum):
    """What is behind us, in the order in which it usually happens."""

    PYTHON = "python"  # the interpreter runs
    HEAD = "head"  # the head's port answers
    IMPORTS = "imports"  # torch and TorchRL are imported
    RAY = "ray"  # this process is part of the Ray cluster
    CONSTRUCTED = "constructed"  # policy built, collectors asked for
    FIRST_BATCH = "first_batch"


def log_milestone(milestone: Milestone) -> None:
    log.info("milestone %s %.3f", milestone.value, time.time())
