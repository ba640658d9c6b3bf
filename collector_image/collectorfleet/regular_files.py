"""Read files that must be regular files."""

from __future__ import annotations

import stat
from pathlib import Path

from collectorfleet.errors import InvalidOption


def read_regular(file: Path) -> bytes:
    """Return the content of ``file``. Raises OSError, or InvalidOption for a pipe, a socket or a device.

    A read of a pipe or a device might never end.
    """
    check_regular(file)
    return file.read_bytes()


def check_regular(file: Path) -> None:
    """Raise InvalidOption for a pipe, a socket or a device. Raise OSError if ``file`` does not exist."""
    mode = file.stat().st_mode
    # A folder passes this check, because reading it raises IsADirectoryError.
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InvalidOption(f"{file} is a pipe, a socket or a device; name a regular file")
