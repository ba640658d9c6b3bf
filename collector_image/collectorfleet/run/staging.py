"""Read and write the staging folders of drivers: their order, and the driver of each folder."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from collectorfleet.durable_files import name_path
from collectorfleet.stored_json import parse_json

DRIVER: Final = "driver.json"
_STAGING: Final = re.compile(r"\.driver-(\d+)-([0-9a-f]+)")


@dataclass(frozen=True, order=True)
class Turn:
    """A driver's place in the order in which drivers took the folder."""

    number: int
    token: str  # distinguishes drivers that started at the same moment

    @property
    def name(self) -> str:
        return f".driver-{self.number:06d}-{self.token}"


def turns_in(folder: Path) -> list[Turn]:
    """Return the turns of all drivers that have a staging folder in ``folder``."""
    found = (_STAGING.fullmatch(name) for name in os.listdir(folder))
    return [Turn(int(match[1]), match[2]) for match in found if match]


def sign(folder: Path, turn: Turn) -> None:
    """Record this process as the driver of the staging folder of ``turn``. Raises OSError."""
    place = folder / turn.name
    # Let all users with write access to the folder rename the staging folder. The next driver may run as another user.
    with suppress(OSError):  # not all file systems have modes
        place.chmod(stat.S_IMODE(folder.stat().st_mode) & 0o777 | stat.S_IRWXU)
    try:
        (place / DRIVER).write_text(json.dumps(_me() | {"token": turn.token}))
    except OSError as error:
        name_path(error, place / DRIVER)
        raise


def is_signed(folder: Path, turn: Turn) -> bool:
    """Return whether the staging folder of ``turn`` exists and still has its driver's signature."""
    # The existence of the folder is not enough, because a library that writes into it may have recreated it.
    return read_driver(folder / turn.name).get("token") == turn.token


def read_driver(staging: Path) -> dict[str, str]:
    """Return the content of ``driver.json`` in a staging folder, or an empty dict if it is missing or damaged."""
    try:
        found = parse_json((staging / DRIVER).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and {"driver", "since", "token"} <= found.keys() else {}


def _me() -> dict[str, str]:
    # In a pod, the host's name is the pod's name.
    return {
        "driver": f"{socket.gethostname()}, process {os.getpid()}",
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
