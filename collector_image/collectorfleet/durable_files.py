"""Writing so that a kill or a crash at any moment leaves the old file or the new one, never half of one."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

UNFINISHED: Final = ".unfinished-"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_PASSES: Final = (
    *_FULL,
    *(errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.ENOTCONN, errno.EBUSY, errno.EAGAIN),
)

# Such as: unable to write to file </data/a.memmap>: No space left on device (28)
_MAPPING: Final = re.compile(r"<([^>]*)>: (.*) \((\d+)\)")
_REMEDIES: Final = {
    **dict.fromkeys(_FULL, "make room on the volume"),
    errno.EROFS: "mount the volume so that it can be written to",
    errno.EIO: "check the volume",
}


def is_full(error: OSError) -> bool:
    """Whether the volume, or a quota on it, has no room: it may have some later."""
    return error.errno in _FULL


def may_pass(error: OSError) -> bool:
    """Whether the volume is full or fails, which another try may find mended, unlike a path that is wrong."""
    return error.errno in _PASSES


def failure_of(error: OSError) -> str:
    """Return why a file was not written: its path, the cause, the room that a full volume has, and what to do."""
    path = error.filename
    # Not with the path: it comes first.
    cause = f"[Errno {error.errno}] {error.strerror}" if error.errno is not None else str(error)
    parts = [f"{path}: {type(error).__name__}: {cause}" if path else f"{type(error).__name__}: {cause}"]
    if is_full(error) and path:
        parts[0] += _room_at(Path(os.fsdecode(path)))
    if (remedy := _REMEDIES.get(error.errno or 0)) is not None:
        parts.append(remedy)
    return "; ".join(parts)


def mapping_error(error: RuntimeError) -> OSError | None:
    """Return the OSError that torch tells as a RuntimeError where it cannot map a file; None for another error."""
    found = _MAPPING.search(str(error))
    if found is None:
        return None
    path, cause, number = found[1], found[2], int(found[3])
    room = _room_at(Path(path)) if number in _FULL else ""
    return OSError(number, f"{cause}{room}", path)


def name_path(error: OSError, path: Path) -> None:
    """Have ``error`` name the path, if it names none: the error of a write to an open file does not."""
    if error.filename is None and error.errno is not None:
        error.filename = str(path)


def _room_at(path: Path) -> str:
    try:
        usage = shutil.disk_usage(next(one for one in (path, *path.parents) if one.exists()))
    except (OSError, StopIteration):
        return ""  # the volume does not say
    return f" ({usage.free:,} of {usage.total:,} bytes left)"


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
    except BaseException as error:
        if isinstance(error, OSError):
            name_path(error, file)
        # On a full volume it would keep the room that others need. On one that fails it cannot be removed either.
        with suppress(OSError):
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
