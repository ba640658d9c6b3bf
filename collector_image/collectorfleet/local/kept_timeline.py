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
from collectorfleet.run.timeline_keeper import Keep, TimelineKeeper, keeper_in
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api.v1alpha1 import CollectorFleet

EVERY_SECONDS: Final = 10.0


def kept_timeline(
    fleet: CollectorFleet, checkpoints: CheckpointFolder | None, page: Path | None, videos: Path | None
) -> TimelineKeeper | None:
    """Return the keeper of the timeline, or None if ``checkpoints`` and ``page`` are None.

    The page shows the newest videos in the folder ``videos``.

    Raises:
        InfrastructureError: the page cannot be written now, because its volume is full or fails.
        InvalidOption: the page can never be written.
    """
    shows = {} if page is None else {"the report": _shown(fleet.metadata.name, page, videos)}
    if checkpoints is not None:
        return keeper_in(checkpoints.files, fleet, every_seconds=EVERY_SECONDS, also=shows)
    return TimelineKeeper(fleet, shows, every_seconds=EVERY_SECONDS) if shows else None


def ended_as(ended: Exit) -> str:
    """Return how the run ended, in one sentence."""
    match ended:
        case Completed(message):
            return f"completed: {message}"
        case Stopped(message):
            return message
        case UserError(message) | Broken(message):
            return f"failed: {message}"


def _shown(fleet: str, page: Path, videos: Path | None) -> Keep:
    # The user's code may change the current folder.
    show = write_page(page.absolute(), videos=videos)
    try:
        show(Timeline(fleet=fleet, began=time.time()))
    except OSError as error:
        if is_temporary(error):
            raise InfrastructureError(f"--report {page}: {describe_failure(error)}") from error
        raise InvalidOption(f"--report {page}: the file cannot be written: {error.strerror}") from error
    return show
