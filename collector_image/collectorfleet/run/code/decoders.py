"""Decompress archives within bounded memory.

An xz or LZMA stream states the size of its dictionary, up to 4 GiB. A decoder allocates the dictionary at once.
Python's readers of archives set no limit. They also unpack bzip2 and LZMA in zips without a limit. 64 kB of bzip2 may
expand to gigabytes in memory.
"""

from __future__ import annotations

import bz2
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import IO, Any, Final, Protocol, cast

from collectorfleet.run.code.members import BadMember

# `xz -9` needs 65 MiB, with a dictionary of 64 MiB.
MOST_DECODER_BYTES: Final = 80 * 2**20
_READ_BYTES: Final = 64 * 2**10
_LZMA_PROPERTIES: Final = 5
_HAS_END_MARKER: Final = 0x2
_UNKNOWN_SIZE: Final = b"\xff" * 8
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


class _Decoder(Protocol):
    """The interface of ``lzma.LZMADecompressor`` and ``bz2.BZ2Decompressor``."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


def of_xz(file: IO[bytes], name: str = "the archive") -> IO[bytes]:
    """Return the content of an xz or LZMA ``file``. Reading raises LZMAError, EOFError, or BadMember with ``name``."""
    decoded = _Decoded(file, lambda: lzma.LZMADecompressor(memlimit=MOST_DECODER_BYTES), name)
    return cast("IO[bytes]", io.BufferedReader(decoded, _READ_BYTES))


def open_member(tree: zipfile.ZipFile, one: zipfile.ZipInfo) -> IO[bytes]:
    """Return the content of a file in a zip.

    Raises BadMember if the compression of the file is not supported or needs too much memory. If the zip is damaged,
    raises an error of zipfile or of the decoder. Reads of the content may raise these errors, too.
    """
    if one.compress_type not in _METHODS:
        raise BadMember(f"{one.filename!r} is compressed by method {one.compress_type}; use deflate, bzip2 or LZMA")
    if one.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return tree.open(one)
    # To read the compressed bytes, tell zipfile that the file is not compressed.
    compressed = copy(one)
    compressed.compress_type, compressed.file_size = zipfile.ZIP_STORED, one.compress_size
    compressed.CRC = cast("int", None)  # zipfile would compare the checksum with the compressed bytes
    source = tree.open(compressed)
    name = repr(one.filename)
    if one.compress_type == zipfile.ZIP_BZIP2:
        decoded = _Decoded(source, bz2.BZ2Decompressor, name)
    else:
        begin = _Begin(source, _lzma_header(source, one))
        decoded = _Decoded(begin, lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=MOST_DECODER_BYTES), name)
    return cast("IO[bytes]", _Member(decoded, one))


def _lzma_header(source: IO[bytes], one: zipfile.ZipInfo) -> bytes:
    """Return a header of the format LZMA_ALONE. Python limits the memory for this format, but not for raw LZMA."""
    begin = source.read(4 + _LZMA_PROPERTIES)
    if len(begin) < 4 + _LZMA_PROPERTIES or struct.unpack("<H", begin[2:4])[0] != _LZMA_PROPERTIES:
        raise BadMember(f"{one.filename!r} has no properties of LZMA")
    size = _UNKNOWN_SIZE if one.flag_bits & _HAS_END_MARKER else struct.pack("<Q", one.file_size)
    return begin[4:] + size


class _Begin:
    """A file with the bytes ``begin``, followed by the bytes of ``file``."""

    def __init__(self, file: IO[bytes], begin: bytes) -> None:
        self._file, self._begin = file, begin

    def read(self, size: int) -> bytes:
        begin, self._begin = self._begin, b""
        return begin or self._file.read(size)

    def close(self) -> None:
        self._file.close()


class _Decoded(io.RawIOBase):
    """The decompressed content of ``file``, which may have several streams one after another.

    ``make`` makes the decoder of a stream. If the decoder needs too much memory, the error message begins with
    ``name``.
    """

    def __init__(self, file: Any, make: Callable[[], _Decoder], name: str) -> None:
        self._file = file
        self._make = make
        self._name = name
        self._decoder = make()
        self._position = 0
        self._is_at_end = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to ``offset`` bytes from the beginning or the current position. A move back decompresses again."""
        if whence == io.SEEK_END:
            raise io.UnsupportedOperation("the size is not known")
        target = offset + (self._position if whence == io.SEEK_CUR else 0)
        if target < self._position:
            self._file.seek(0)
            self._decoder, self._position, self._is_at_end = self._make(), 0, False
        while self._position < target and self.read(min(_READ_BYTES, target - self._position)):
            pass
        return self._position

    def readinto(self, into: Any) -> int:
        with memoryview(into).cast("B") as view:
            found = self._next(len(view))
            view[: len(found)] = found
        self._position += len(found)
        return len(found)

    def close(self) -> None:
        super().close()
        if isinstance(self._file, _Begin | zipfile.ZipExtFile):
            self._file.close()

    def _next(self, size: int) -> bytes:
        """Return 1 to ``size`` bytes, or no bytes at the end."""
        while size and not self._is_at_end:
            found = self._next_of_stream(size) if self._decoder.eof else self._decompress(size)
            if found:
                return found
        return b""

    def _decompress(self, size: int) -> bytes:
        data = b""
        if self._decoder.needs_input:
            data = self._file.read(_READ_BYTES)
            if not data:
                raise EOFError("the compressed data ends in the middle of a stream")
        return self._bounded(data, size)

    def _next_of_stream(self, size: int) -> bytes:
        data = self._decoder.unused_data or self._file.read(_READ_BYTES)
        self._decoder = self._make()
        if data:
            with suppress(lzma.LZMAError, OSError):  # other data may follow the last stream, such as padding
                return self._bounded(data, size)
        self._is_at_end = True
        return b""

    def _bounded(self, data: bytes, size: int) -> bytes:
        try:
            return self._decoder.decompress(data, size)
        except lzma.LZMAError as error:
            # Python's name for liblzma's LZMA_MEMLIMIT_ERROR
            if "Memory usage limit" not in str(error):
                raise
            raise BadMember(
                f"unpacking {self._name} takes more than {MOST_DECODER_BYTES:,} bytes of memory; compress it with "
                "a dictionary of at most 64 MiB, such as with `xz -9`"
            ) from error


class _Member(io.RawIOBase):
    """The content of a file in a zip.

    The content has the size that the zip's directory states. Reading to the end verifies the checksum.
    """

    def __init__(self, decoded: _Decoded, one: zipfile.ZipInfo) -> None:
        self._decoded = decoded
        self._name = one.filename
        self._left = one.file_size
        self._expected_checksum = one.CRC
        self._checksum = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        with memoryview(into).cast("B") as view:
            found = self._decoded.read(min(len(view), self._left)) or b""
            view[: len(found)] = found
        self._checksum = zlib.crc32(found, self._checksum)
        self._left -= len(found)
        if not found and self._left and len(into):
            raise EOFError(f"{self._name!r} is shorter than the directory of the zip says")
        if not self._left and self._checksum != self._expected_checksum:
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {self._name!r}")
        return len(found)

    def close(self) -> None:
        super().close()
        self._decoded.close()
