"""Writing so that a kill or a crash at any moment leaves the old file or the new one, never half of one."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

UNFINISHED: Final = ".unfinished-"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def is_full(error: OSError) -> bool:
    """Whether the volume, or a quota on it, has no room: it may have some later."""
    return error.errno in _FULL


def write_json(file: Path, content: Any) -> None:
    """Put ``content`` into ``file``, whole or not at all."""
    write(file, lambda out: out.write(json.dumps(content, indent=1).encode()))


def write(file: Path, put: Callable[[BinaryIO], object]) -> None:
    """Put into ``file`` what ``put`` writes, whole or not at all. Raises what ``put`` raises, or OSError."""
    unfinished = file.with_name(UNFINISHED + file.name)
    try:
        with unfinished.open("wb") as out:
            put(out)
            out.flush()
            os.fsync(out.fileno())
        unfinished.replace(file)
    except BaseException:
        # On a full volume it would keep the room that others need.
        unfinished.unlink(missing_ok=True)
        raise
    sync(file.parent)


def sync_tree(path: Path) -> None:
    """Block until the file at ``path``, or the folder with all that is in it, is on disk."""
    for one in path.rglob("*"):
        sync(one)
    sync(path)


def sync(path: Path) -> None:
    """Block until ``path``, a file or a folder's list of names, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
