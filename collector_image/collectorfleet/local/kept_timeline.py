"""Write the timeline of a local run to a file beside the checkpoints, and to the page of ``--report``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from collectorfleet.display.report.files import write_page
from collectorfleet.durable_files import describe_failure, is_temporary
from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.exit import Broken, Completed, Exit, Stopped, UserError
from collectorfleet.run.timeline_keeper import TimelineKeeper, keeper_in
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api.v1alpha1 import CollectorFleet

EVERY_SECONDS: Final = 10.0
COMPLETED: Final = "completed: "


def kept_timeline(
    fleet: CollectorFleet, checkpoints: CheckpointFolder | None, page: Path | None, videos: Path | None
) -> TimelineKeeper | None:
    """Return the keeper of the timeline, or None if ``checkpoints`` and ``page`` are None.

    The page shows the newest videos in the folder ``videos``. See :func:`write_first_page`.
    """
    # The user's code may change the current folder.
    shows = {} if page is None else {"the report": write_page(page.absolute(), videos=videos)}
    if checkpoints is not None:
        return keeper_in(checkpoints.files, fleet, every_seconds=EVERY_SECONDS, also=shows)
    return TimelineKeeper(fleet, shows, every_seconds=EVERY_SECONDS) if shows else None


def write_first_page(fleet: CollectorFleet, page: Path) -> None:
    """Write the page of a run that has not started.

    Raises:
        InfrastructureError: the page cannot be written now, because its volume is full or fails.
        InvalidOption: the page can never be written.
    """
    try:
        write_page(page)(Timeline(fleet=fleet.metadata.name, began=time.time()))
    except OSError as error:
        if is_temporary(error):
            raise InfrastructureError(f"--report {page}: {describe_failure(error)}") from error
        raise InvalidOption(f"--report {page}: the file cannot be written: {error.strerror}") from error


def ended_as(ended: Exit) -> str:
    """Return how the run ended, in one sentence."""
    match ended:
        case Completed(message):
            return f"{COMPLETED}{message}"
        case Stopped(message):
            return message
        case UserError(message) | Broken(message):
            return f"failed: {message}"
