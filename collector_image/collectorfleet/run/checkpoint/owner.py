"""Read and build ``fleet.json``: the fleet and run that own a folder of checkpoints, and the number of drivers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from collectorfleet.errors import InvalidOption
from collectorfleet.run.folders import holds_anything
from collectorfleet.stored_json import parse_json

FILE: Final = "fleet.json"


@dataclass(frozen=True)
class Owner:
    """The run that owns the folder. ``starts`` counts the drivers that the run had before this driver."""

    run: str
    starts: int


def owner_of(folder: Path, fleet: str, run: str) -> Owner:
    """Return the owner of the folder. The run ``run`` becomes the owner of an empty folder.

    Raises InvalidOption if another fleet owns the folder, or if the folder or its ``fleet.json`` has other content.
    Raises OSError if the folder cannot be read.
    """
    file = folder / FILE
    # Look for other files before reading fleet.json. Another driver may start now, and fleet.json is the first file
    # that a driver publishes.
    is_used = holds_anything(folder)
    if file.exists():
        return _read(file, fleet)
    if is_used:
        raise InvalidOption(
            f"checkpoints in {folder}: the folder is not empty and has no checkpoints of a fleet; name an empty folder"
        )
    return Owner(run, starts=0)


def to_json(fleet: str, run: str, drivers: int) -> dict[str, Any]:
    """Return the content of ``fleet.json``. ``drivers`` includes the current driver."""
    return {"fleet": fleet, "run": run, "starts": drivers}


def _read(file: Path, fleet: str) -> Owner:
    try:
        found = parse_json(file.read_text())
    except ValueError:
        found = None
    if not _is_written_by_a_run(found):
        raise InvalidOption(
            f"checkpoints in {file.parent}: {FILE} was not written by a run; restore the file, or name an empty "
            "folder to start over"
        )
    name, owner = found["fleet"], Owner(found["run"], found["starts"])
    if name != fleet:
        raise InvalidOption(
            f"checkpoints in {file.parent}: the checkpoints are of fleet {name}, but this is fleet {fleet}; name "
            "another folder"
        )
    return owner


def _is_written_by_a_run(found: Any) -> bool:
    kinds = {"fleet": str, "run": str, "starts": int}
    return isinstance(found, dict) and all(type(found.get(key)) is kind for key, kind in kinds.items())
