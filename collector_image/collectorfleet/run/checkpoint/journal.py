"""How far a driver was when it was killed, to the batch: written before each batch, synced to disk never.

What a killed process wrote is in the kernel's cache, so a write of some microseconds is enough for a lost pod. A node
that crashes may lose the newest entries; the checkpoint and the status are there then.

Each driver writes a new file and replaces the file of the driver before. The new file begins with the last entry of the
old one. If the earlier driver still runs, its entries go into a file that no longer has a name.
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

# Two places that take turns: a write that was torn leaves the other whole. Number of the entry, frames ever handed out,
# version, checksum.
_ENTRY: Final = struct.Struct("<QQQI")
_PLACES: Final = 2


class Journal:
    """The file ``name`` in ``folder``, which this driver has taken. Raises FolderTakenOver or OSError."""

    def __init__(self, folder: FencedFolder, name: str) -> None:
        self._number, frames, version = _last_entry(folder.path / name)
        # What the driver before this one noted last. All its frames count as lost until somebody says which are kept.
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
            # That of the driver before has its room on a full volume; and if it is open elsewhere, it stays on some.
            self._descriptor = _open(folder.path / name)

    def note(self, frames_ever: int, version: int) -> None:
        """``version`` is the newest that may be published before the next call."""
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
    """Number, frames and version; zeros where there is none that is whole."""
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
