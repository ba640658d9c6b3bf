"""Count the objects of a git pack and their sizes, without unpacking a whole object into memory.

dulwich unpacks each object into memory. A pack of some megabytes can contain an object of many gigabytes.
"""

from __future__ import annotations

import zlib
from typing import BinaryIO, Final

from collectorfleet.run.code.bounds import MOST_FILES, Bounds

# Enough for a commit, its files, and the folders of a deep tree.
MOST_OBJECTS: Final = 4 * MOST_FILES
_HEADER_BYTES: Final = 12
_COUNT_AT: Final = 8
_OFFSET_DELTA: Final = 6
_REFERENCE_DELTA: Final = 7
_READ_BYTES: Final = 64 * 2**10
_SIZES_BYTES: Final = 20  # enough for the sizes of base and object at the beginning of a delta


class BadPack(ValueError):
    """The pack is cut off or damaged."""


def check_pack(pack: BinaryIO, digest_bytes: int, bounds: Bounds) -> None:
    """Check the objects of ``pack`` against ``bounds``, and leave the read position at the end of the pack.

    ``digest_bytes`` is the length of a digest. Raises InvalidOption for too many objects or bytes, and BadPack for a
    damaged pack.
    """
    pack.seek(0)
    header = pack.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or not header.startswith(b"PACK"):
        raise BadPack("the pack has no header")
    count = int.from_bytes(header[_COUNT_AT:], "big")
    bounds.objects(count, MOST_OBJECTS)
    reader = _Reader(pack)
    for _ in range(count):
        reader.count_object(digest_bytes, bounds)
    pack.seek(0, 2)


class _Reader:
    """A reader of ``pack`` from its current position."""

    def __init__(self, pack: BinaryIO) -> None:
        self._pack = pack
        self._buffer = b""

    def count_object(self, digest_bytes: int, bounds: Bounds) -> None:
        kind, size_bytes = self._header()
        if kind == _OFFSET_DELTA:
            while self._byte() & 0x80:
                pass
        elif kind == _REFERENCE_DELTA:
            for _ in range(digest_bytes):
                self._byte()
        # Count the object before unpacking it, because it may be too large.
        bounds.inflate(size_bytes)
        begin = self._skip_content(size_bytes)
        if kind in (_OFFSET_DELTA, _REFERENCE_DELTA):
            _, at = _number(begin, 0)
            target_bytes, _ = _number(begin, at)
            bounds.inflate(target_bytes)

    def _header(self) -> tuple[int, int]:
        """Return the kind and the size of the next object."""
        byte = self._byte()
        kind, size, shift = byte >> 4 & 7, byte & 0xF, 4
        while byte & 0x80:
            byte = self._byte()
            size |= (byte & 0x7F) << shift
            shift += 7
        return kind, size

    def _skip_content(self, size_bytes: int) -> bytes:
        """Skip the compressed content, and return its first uncompressed bytes."""
        stream, begin, found = zlib.decompressobj(), b"", 0
        while not stream.eof:
            data = stream.unconsumed_tail or self._some()
            content = stream.decompress(data, _READ_BYTES)
            # The first part may be shorter, because the read data may end anywhere in the stream.
            begin += content[: _SIZES_BYTES - len(begin)]
            found += len(content)
            if found > size_bytes:
                raise BadPack(f"an object is longer than the {size_bytes:,} bytes in its header")
        self._buffer = stream.unused_data
        return begin

    def _byte(self) -> int:
        self._buffer = data = self._buffer or self._some()
        self._buffer = data[1:]
        return data[0]

    def _some(self) -> bytes:
        data, self._buffer = self._buffer or self._pack.read(_READ_BYTES), b""
        if not data:
            raise BadPack("the pack is cut off")
        return data


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the variable-length number at index ``at``, and the index after the number. Raises BadPack."""
    found = shift = 0
    while at < len(data):
        found |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return found, at
    raise BadPack("a delta ends before its size is complete")
