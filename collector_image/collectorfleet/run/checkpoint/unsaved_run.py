"""Recognize and remove the files of a run that ended before its first checkpoint. Such a run has nothing to resume."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from collectorfleet.errors import InvalidOption
from collectorfleet.run.checkpoint import owner
from collectorfleet.run.checkpoint.folder import JOURNAL
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.folders import holds_anything, visible_names
from collectorfleet.run.staging import DRIVER, turns_in
from collectorfleet.timeline import files
from collectorfleet.timeline.videos import FOLDER

# In the order of their removal. If the removal is interrupted, fleet.json still names the fleet.
_OWN: Final = (files.NAME, JOURNAL, owner.FILE)


def has_only_an_unsaved_run(folder: Path, fleet: str) -> bool:
    """Return whether the folder has only files of a run of ``fleet`` that wrote no checkpoint. Raises OSError.

    A folder for videos does not count if it has no videos.
    """
    names = visible_names(folder)
    if _is_empty_folder(folder / FOLDER):  # a driver makes the folder at its start
        names.discard(FOLDER)
    if owner.FILE not in names or not names <= set(_OWN) or not all((folder / name).is_file() for name in names):
        return False
    try:
        owner.owner_of(folder, fleet, "")
    except InvalidOption:
        return False
    return True


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not holds_anything(path)


def recorded_end(folder: Path) -> str | None:
    """Return how the last driver of the folder ended its run, or None if it has not recorded the end.

    A killed driver records no end. Example: ``failed: train t:t: ValueError: no``.
    """
    timeline = folder / files.NAME
    try:
        found = files.read(timeline)
        # A driver that has taken the folder since then may still be starting.
        taken = [(folder / turn.name / DRIVER).stat().st_mtime_ns for turn in turns_in(folder)]
        # Many file systems count seconds. If the times are equal, the timeline may be the earlier file.
        is_last = all(one < timeline.stat().st_mtime_ns for one in taken)
    except (OSError, ValueError):
        return None
    return found.ended if found is not None and is_last else None


def start_over(folder: Path, fleet: str) -> bool:
    """Remove the files of an unsaved run. Return False if a driver has written other files meanwhile.

    Raises FolderTakenOver or OSError.
    """
    own = FencedFolder(folder)
    own.take()
    if not has_only_an_unsaved_run(folder, fleet):
        return False
    for name in (FOLDER, *_OWN):
        own.remove(name)
    own.release()
    return True
