"""Writing so that a kill or a crash at any moment leaves the old file or the new one, never half of one."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

UNFINISHED: Final = ".unfinished-"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_PASSES: Final = (
    *_FULL,
    *(errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.ENOTCONN, errno.EBUSY, errno.EAGAIN),
)


def is_full(error: OSError) -> bool:
    """Whether the volume, or a quota on it, has no room: it may have some later."""
    return error.errno in _FULL


def may_pass(error: OSError) -> bool:
    """Whether the volume is full or fails, which another try may find mended, unlike a path that is wrong."""
    return error.errno in _PASSES


def reserve(folder: Path) -> None:
    """Give each file below ``folder`` all the room that its size promises.

    A write into a mapped file that has no room kills the process (SIGBUS). Raises OSError, with the bytes that are
    needed and left, and the file.
    """
    for file in [one for one in folder.rglob("*") if one.is_file()]:
        size = file.stat().st_size
        descriptor = os.open(file, os.O_RDWR)
        try:
            if size and hasattr(os, "posix_fallocate"):  # not on macOS
                os.posix_fallocate(descriptor, 0, size)
        except OSError as error:
            left = shutil.disk_usage(folder).free
            raise OSError(
                error.errno, f"{os.strerror(error.errno or 0)} ({size:,} bytes needed, {left:,} left)", str(file)
            ) from error
        finally:
            os.close(descriptor)


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


def size_bytes(folder: Path) -> int:
    """Return the size of all files below ``folder``."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def sync(path: Path) -> None:
    """Block until ``path``, a file or a folder's list of names, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
