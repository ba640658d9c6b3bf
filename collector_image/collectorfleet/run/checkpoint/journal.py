"""Record the progress of a driver with each batch. If this driver is killed, the next driver knows its progress.

The journal is not synced to disk, so a write takes only some microseconds. The kernel's cache keeps the writes of a
killed process, so the writes survive the loss of a pod. A crash of the node may lose the newest entries. The next
driver then uses the checkpoint and the status.

Each driver writes a new file, which replaces the file of the previous driver. The new file begins with the last entry
of the old file. If the previous driver still runs, it writes its entries to the old file. No driver reads the old file
again. If the old file cannot be replaced, both drivers write to it.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.position import Position

# Number of the entry, frames delivered by all drivers, version, checksum. The file has two places for entries, and the
# driver writes to them alternately. After a torn write, the entry in the other place is intact.
_ENTRY: Final = struct.Struct("<QQQI")
_PLACES: Final = 2


class Journal:
    """The file ``name`` in ``folder``. This driver has taken the folder. Raises FolderTakenOver or OSError."""

    def __init__(self, folder: FencedFolder, name: str) -> None:
        self._number, frames, version = _last_entry(folder.path / name)
        # The last entry of the previous driver. All its frames count as lost until the resume point is computed.
        self.last_noted = Position(version=version, frames_lost=frames)
        self._descriptor = -1
        try:
            with folder.publishing(name) as place:
                self._descriptor = _open(place)
                self.note(frames, version)
        except Exception as error:
            if self._descriptor >= 0:
                self.close()
            if not isinstance(error, OSError) or not (folder.path / name).exists():
                raise
            # Write to the previous driver's file. If the volume is full, there is no space for a new file. Some file
            # systems also refuse to replace a file that is open elsewhere.
            self._descriptor = _open(folder.path / name)

    def note(self, frames_ever: int, version: int) -> None:
        """Write an entry. ``version`` is the newest version that may be published before the next call."""
        self._number += 1
        body = _ENTRY.pack(self._number, frames_ever, version, 0)[:-4]
        place = self._number % _PLACES * _ENTRY.size
        os.pwrite(self._descriptor, body + struct.pack("<I", zlib.crc32(body)), place)

    def close(self) -> None:
        with suppress(OSError):
            os.close(self._descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)


def _last_entry(path: Path) -> tuple[int, int, int]:
    """Return number, frames and version of the newest intact entry, or zeros if there is no intact entry."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        text = b""
    found = [(0, 0, 0)]
    for place in range(0, min(len(text), _PLACES * _ENTRY.size) - _ENTRY.size + 1, _ENTRY.size):
        one = text[place : place + _ENTRY.size]
        number, frames, version, checksum = _ENTRY.unpack(one)
        if number and zlib.crc32(one[:-4]) == checksum:
            found.append((number, frames, version))
    return max(found)
