"""Write files atomically: after a kill or a crash at any moment, the old file or the complete new file exists."""

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

# Example: unable to write to file </data/a.memmap>: No space left on device (28)
_MAPPING: Final = re.compile(r"<([^<>]*)>: ([^<>\n]*) \((\d+)\)")
_REMEDIES: Final = {
    **dict.fromkeys(_FULL, "make room on the volume"),
    errno.EROFS: "mount the volume so that it can be written to",
    errno.EIO: "check the volume",
}


def is_full(error: OSError) -> bool:
    """Return whether the volume or its quota is full. A later write may succeed."""
    return error.errno in _FULL


def is_temporary(error: OSError) -> bool:
    """Return whether a retry may succeed, because the volume is full or fails. Return False for a wrong path."""
    return error.errno in _PASSES


def describe_failure(error: OSError) -> str:
    """Return why a file operation failed: the cause, the path, and what to do. For a full volume, add the free space.

    Example: ``OSError: [Errno 28] No space left on device (0 of 4,096 bytes left): '/a'; make room on the volume``.
    """
    told, path = error, _as_text(error.filename)
    room = ""
    # A strerror that ends in "left)" has the free space already.
    if is_full(error) and isinstance(path, str | bytes) and not str(error.strerror).endswith("left)"):
        room = _room_at(Path(os.fsdecode(path)))
    if room or (error.errno is not None and path is not error.filename):
        told = OSError(error.errno, f"{error.strerror}{room}", path, None, _as_text(error.filename2))
    remedy = _who_may_not() if error.errno == errno.EACCES else _REMEDIES.get(error.errno or 0)
    described = f"{type(error).__name__}: {told}"
    return described if remedy is None else f"{described}; {remedy}"


def _who_may_not() -> str | None:
    """Return which user and group need the right. Return None on a system without numeric IDs of users."""
    if not hasattr(os, "geteuid"):
        return None
    return (
        f"this process runs as user {os.geteuid()} and group {os.getegid()}: make the folder writable for them, for "
        "example with chown, or in a pod with fsGroup"
    )


def _as_text(path: Any) -> Any:
    """Return ``path`` as a string if it is a Path, whose representation names the class."""
    return os.fspath(path) if isinstance(path, os.PathLike) else path


def mapping_error(error: RuntimeError) -> OSError | None:
    """Return an OSError for the RuntimeError that torch raises if it cannot map a file.

    Return None for any other error.
    """
    found = _MAPPING.search(str(error))
    if found is None:
        return None
    path, cause, number = found[1], found[2], int(found[3])
    room = _room_at(Path(path)) if number in _FULL else ""
    return OSError(number, f"{cause}{room}", path)


def volume_error(error: BaseException) -> OSError | None:
    """Return the error of a full, failing or read-only volume. Return None for any other error."""
    found = mapping_error(error) if isinstance(error, RuntimeError) else error
    if isinstance(found, OSError) and (is_temporary(found) or found.errno == errno.EROFS):
        return found
    return None


def name_path(error: OSError, path: Path) -> None:
    """Add ``path`` to an error without a path. A failed write to an open file raises such an error."""
    if error.filename is None and error.errno is not None:
        error.filename = str(path)


def _room_at(path: Path) -> str:
    try:
        there = next(one for one in (path, *path.parents) if one.exists())
        usage, files = shutil.disk_usage(there), os.statvfs(there)
    except (OSError, StopIteration):
        return ""  # the size of the volume is unknown
    if files.f_files and not files.f_favail:
        return f" ({usage.free:,} of {usage.total:,} bytes and 0 of {files.f_files:,} files left)"
    return f" ({usage.free:,} of {usage.total:,} bytes left)"


def reserve(folder: Path) -> None:
    """Allocate disk space for the full size of each file below ``folder``.

    If the volume lacks space during a write into a mapped file, the kernel kills the process (SIGBUS). On macOS, this
    function allocates nothing. Raises an OSError that names the file, the needed bytes and the free bytes.
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
    """Write ``content`` into ``file`` as JSON, atomically."""
    write(file, lambda out: out.write(json.dumps(content, indent=1).encode()))


def write(file: Path, put: Callable[[BinaryIO], object]) -> None:
    """Call ``put`` to write the content of ``file``, atomically. Raises OSError and the errors of ``put``.

    If ``file`` is a symbolic link, the function replaces the target of the link. If ``file`` is a device or a pipe, the
    function writes into it directly.
    """
    if file.exists() and not file.is_file() and not file.is_dir():
        with file.open("wb") as out:
            put(out)
        return
    file = Path(os.path.realpath(file))
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
        # Remove the unfinished file, which would take space on a full volume. If the volume fails, the removal may
        # fail, too.
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise
    sync(file.parent)


def sync_tree(path: Path) -> None:
    """Block until the file or folder at ``path`` is on disk, with everything below the folder."""
    for one in path.rglob("*"):
        sync(one)
    sync(path)


def size_bytes(folder: Path) -> int:
    """Return the total size of all files below ``folder``, in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def sync(path: Path) -> None:
    """Block until the file at ``path``, or the list of names in the folder at ``path``, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
