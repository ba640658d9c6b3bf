"""Whose a folder of checkpoints is: ``fleet.json`` names the fleet and the run, and counts the run's drivers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from collectorfleet.errors import InvalidOption
from collectorfleet.run.folders import holds_anything

FILE: Final = "fleet.json"


@dataclass(frozen=True)
class Owner:
    """The run that has the folder; ``starts`` counts its drivers before this one."""

    run: str
    starts: int


def owner_of(folder: Path, fleet: str, run: str) -> Owner:
    """Whose the folder is: ``fleet``'s, with the run that is in it, or with ``run``, which begins here.

    Raises InvalidOption if the folder is another fleet's or holds something else; OSError, ValueError or KeyError if
    it cannot be read.
    """
    file = folder / FILE
    # Looked at first: another driver may begin here at this moment, and publishes that file before anything else.
    is_used = holds_anything(folder)
    if file.exists():
        return _read(file, fleet)
    if is_used:
        raise InvalidOption(
            f"checkpoints in {folder}: the folder is not empty and has no checkpoints of a fleet; "
            "name another folder, or an empty one"
        )
    return Owner(run, starts=0)


def to_json(fleet: str, run: str, drivers: int) -> dict[str, Any]:
    """Return the content of ``fleet.json``; ``drivers`` counts the present one."""
    return {"fleet": fleet, "run": run, "starts": drivers}


def _read(file: Path, fleet: str) -> Owner:
    found = json.loads(file.read_text())
    if found["fleet"] != fleet:
        raise InvalidOption(
            f"checkpoints in {file.parent}: they are of fleet {found['fleet']}, and this is fleet {fleet}; "
            "name another folder"
        )
    return Owner(str(found["run"]), int(found["starts"]))
