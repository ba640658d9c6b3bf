"""Write and read a checkpoint on disk: a folder with the state, the counters and the digest of the state.

A checkpoint is staged, and then published by a rename. A checkpoint is read only if the digest matches the state. This
module does not know the content of the state.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from collectorfleet.errors import InvalidOption, UserCodeError, describe
from collectorfleet.run.checkpoint.checkpoint import Checkpoint
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.folders import remove
from collectorfleet.run.position import Position
from collectorfleet.stored_json import parse_json

log = logging.getLogger(__name__)

# The format of new checkpoints. Release 0.1.0 wrote format 1 without a format number. A release reads all formats up to
# its own format.
FORMAT: Final = 1
_COUNTERS: Final = "checkpoint.json"
_STATE: Final = "state.pt"
_REPLAY_BUFFER: Final = "replay-buffer"


def name_of(number: int) -> str:
    """Return the name of a checkpoint's folder."""
    return f"checkpoint-{number:06d}"


def numbers_in(folder: Path) -> list[int]:
    """Return the numbers of all checkpoints in ``folder``, the newest first. Damaged checkpoints are included.

    Other libraries also write folders such as ``checkpoint-100000``. Such folders have other files, and are left out.
    """
    return [number for number in _named_numbers(folder) if _is_checkpoint(folder / name_of(number))]


def free_number(folder: Path) -> int:
    """Return a number that is larger than the number of any checkpoint in ``folder``.

    The function also considers other files and folders whose names look like the name of a checkpoint.
    """
    return max(_named_numbers(folder), default=0) + 1


def _named_numbers(folder: Path) -> list[int]:
    found = (re.fullmatch(r"checkpoint-(\d{6,18})", name) for name in os.listdir(folder))
    numbers = (int(match[1]) for match in found if match)
    return sorted({number for number in numbers if os.path.lexists(folder / name_of(number))}, reverse=True)


def _is_checkpoint(path: Path) -> bool:
    try:
        names = os.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # it may be a checkpoint that cannot be read
    if path.is_symlink():
        return False
    # A checkpoint of a newer release may have further files, and a damaged checkpoint may lack some files.
    visible = {name for name in names if not name.startswith(".")}
    return _COUNTERS in names or visible <= {_STATE, _REPLAY_BUFFER}


def write_checkpoint(
    folder: FencedFolder,
    number: int,
    position: Position,
    state: bytes | memoryview,
    *,
    completed: bool,
    replay_buffer: Path | None = None,
) -> Checkpoint:
    """Write a checkpoint into ``folder``, atomically. Blocks until the checkpoint is on disk.

    ``replay_buffer`` is a staged dump in ``folder``, which is moved into the checkpoint. Raises FolderTakenOver or
    OSError. After an error, the checkpoint and the dump are removed.
    """
    time = datetime.now(UTC)
    counters = {
        "format": FORMAT,
        "position": asdict(position),
        "time": time.isoformat(),
        "completed": completed,
        "sha256": hashlib.sha256(state).hexdigest(),
    }
    try:
        with folder.publishing(name_of(number)) as unfinished:
            unfinished.mkdir()
            (unfinished / _STATE).write_bytes(state)
            (unfinished / _COUNTERS).write_text(json.dumps(counters, indent=1))
            if replay_buffer is not None:
                replay_buffer.rename(unfinished / _REPLAY_BUFFER)
    except BaseException:
        if replay_buffer is not None:
            with suppress(OSError):
                remove(replay_buffer)
        raise
    finished = folder.path / name_of(number)
    return Checkpoint(number, position, time, completed, finished / _STATE, _replay_buffer(finished))


def check_format(folder: Path, number: int) -> None:
    """Raise InvalidOption if a newer release wrote the checkpoint. Return if the checkpoint is damaged."""
    try:
        _counters(folder, number)
    except InvalidOption:
        raise
    except (OSError, ValueError, TypeError):
        return


def _counters(folder: Path, number: int) -> dict[str, Any]:
    counters = parse_json((folder / name_of(number) / _COUNTERS).read_text())
    if not isinstance(counters, dict) or not isinstance(counters.get("position"), dict):
        raise ValueError(f"{_COUNTERS} has no counters")
    written_in = int(counters.get("format", 1))
    if written_in > FORMAT:
        raise InvalidOption(
            f"checkpoints in {folder}: {name_of(number)} has format {written_in}, but this release reads only formats "
            f"up to {FORMAT}. Use an image of the release that wrote this checkpoint, or start over in another folder"
        )
    return counters


def read_checkpoint(folder: Path, number: int) -> Checkpoint:
    """Read and check one checkpoint.

    Raises InvalidOption if a newer release wrote the checkpoint, and OSError, ValueError, KeyError or TypeError if the
    checkpoint is damaged.
    """
    counters = _counters(folder, number)
    found = folder / name_of(number)
    with (found / _STATE).open("rb") as state:
        digest = hashlib.file_digest(state, "sha256").hexdigest()
    if digest != counters["sha256"]:
        raise ValueError(f"{_STATE} is damaged: its sha256 differs from the recorded one")
    return Checkpoint(
        number,
        Position.from_json(counters["position"]),
        datetime.fromisoformat(counters["time"]),
        bool(counters["completed"]),
        found / _STATE,
        _replay_buffer(found),
    )


def newest_checkpoint(folder: Path) -> Checkpoint | None:
    """Return the newest undamaged checkpoint, or None if there is no checkpoint. Damaged checkpoints are skipped.

    A driver may write and remove checkpoints meanwhile. Raises InvalidOption if a newer release wrote the checkpoint,
    and UserCodeError if all checkpoints are damaged.
    """
    while numbers := numbers_in(folder):
        for number in numbers:
            try:
                return read_checkpoint(folder, number)
            except InvalidOption:
                raise  # resuming from an older checkpoint would lose the training of the newer release
            except (OSError, ValueError, KeyError, TypeError) as error:
                cause = describe(error)
                if (folder / name_of(number)).exists():  # otherwise the driver removed it after the listing
                    log.warning("%s in %s cannot be read and is skipped: %s", name_of(number), folder, cause)
        if numbers_in(folder) == numbers:
            raise UserCodeError(
                f"checkpoints in {folder}",
                f"none of {len(numbers)} can be read ({cause}); restore a checkpoint, or empty the folder to start "
                "over",
            )
    return None


def _replay_buffer(checkpoint: Path) -> Path | None:
    # The dump has no digest: hashing takes longer than dumping, and the dump was synced before the checkpoint's rename.
    dump = checkpoint / _REPLAY_BUFFER
    return dump if dump.is_dir() else None
