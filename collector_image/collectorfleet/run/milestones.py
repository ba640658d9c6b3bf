"""Log a line for each step of the driver's start, with its Unix time: ``milestone imports 1763712000.123``.

Benchmarks and people use the lines to see the duration of each step.
"""

from __future__ import annotations

import logging
import time
from enum import StrEnum

log = logging.getLogger(__name__)


class Milestone(StrEnum):
    """The finished steps of the start, in their usual order."""

    PYTHON = "python"  # the interpreter runs
    HEAD = "head"  # the head's port answers
    IMPORTS = "imports"  # torch and TorchRL are imported
    RAY = "ray"  # this process is part of the Ray cluster
    CONSTRUCTED = "constructed"  # the policy is built, and collectors are requested
    FIRST_BATCH = "first_batch"


def log_milestone(milestone: Milestone) -> None:
    log.info("milestone %s %.3f", milestone.value, time.time())
