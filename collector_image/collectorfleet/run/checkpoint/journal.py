"""How far a driver was when it was killed, to the batch: written before each batch, synced to disk never.

What a killed process wrote is in the kernel's cache, so a write of some microseconds is enough for a lost pod. A node
that crashes may lose the newest entries; the checkpoint and the status are there then.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import Final

from collectorfleet.run.position import Position

# Two places that take turns: a write that was torn leaves the other whole. Number of the entry, frames ever handed out,
# version, checksum.
_ENTRY: Final = struct.Struct("<QQQI")
_PLACES: Final = 2


class Journal:
    """The file at ``path``; made when it is not there. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        number, frames, version = max(self._read(), default=(0, 0, 0))
        self._number = number
        # What the driver before this one noted last. All its frames count as lost until somebody says which are kept.
        self.last_noted = Position(version=version, frames_lost=frames)

    def note(self, frames_ever: int, version: int) -> None:
        """``version`` is the newest that may be published before the next call."""
        self._number += 1
        body = _ENTRY.pack(self._number, frames_ever, version, 0)[:-4]
        place = self._number % _PLACES * _ENTRY.size
        os.pwrite(self._descriptor, body + struct.pack("<I", zlib.crc32(body)), place)

    def close(self) -> None:
        os.close(self._descriptor)

    def _read(self) -> list[tuple[int, int, int]]:
        text = os.pread(self._descriptor, _PLACES * _ENTRY.size, 0)
        found = []
        for place in range(0, len(text) - _ENTRY.size + 1, _ENTRY.size):
            one = text[place : place + _ENTRY.size]
            number, frames, version, checksum = _ENTRY.unpack(one)
            if number and zlib.crc32(one[:-4]) == checksum:
                found.append((number, frames, version))
        return found
