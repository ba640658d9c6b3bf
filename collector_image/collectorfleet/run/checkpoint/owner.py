"""Whose a folder of checkpoints is: ``fleet.json`` names the fleet and the run, and counts the run's drivers."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from collectorfleet.durable_files import UNFINISHED, is_full, write_json
from collectorfleet.errors import InvalidOption, describe

log = logging.getLogger(__name__)

_FILE: Final = "fleet.json"


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
    file = folder / _FILE
    if file.exists():
        return _read(file, fleet)
    if holds_anything(folder):
        raise InvalidOption(
            f"checkpoints in {folder}: the folder is not empty and holds no fleet's checkpoints; "
            "name another, or an empty one"
        )
    return Owner(run, starts=0)


def count_driver(folder: Path, fleet: str, owner: Owner) -> None:
    """Make the folder ``fleet``'s, or find it so, and count this driver. Raises OSError.

    A full volume costs the count of a later driver, and not its run: it is there to go on from a checkpoint.
    """
    file = folder / _FILE
    try:
        write_json(file, {"fleet": fleet, "run": owner.run, "starts": owner.starts + 1})
    except OSError as error:
        if not file.exists() or not is_full(error):
            raise
        log.warning("%s cannot be written, going on: %s", file, describe(error))


def holds_anything(folder: Path) -> bool:
    """Whether there is anything in the folder but what a killed driver was about to write."""
    return folder.exists() and any(not one.name.startswith(UNFINISHED) for one in folder.iterdir())


def _read(file: Path, fleet: str) -> Owner:
    found = json.loads(file.read_text())
    if found["fleet"] != fleet:
        raise InvalidOption(
            f"checkpoints in {file.parent}: they are of fleet {found['fleet']}, and this is fleet {fleet}; "
            "name another folder"
        )
    return Owner(str(found["run"]), int(found["starts"]))
