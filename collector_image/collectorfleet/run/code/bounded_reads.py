"""Limit how many bytes a reader of an archive may read for headers and directories.

Readers load headers and directories completely into memory. A compressed archive of some megabytes can contain a header
of gigabytes. :mod:`collectorfleet.run.code.decoders` limits the memory of the decompression.
"""

from __future__ import annotations

import lzma
import tarfile
from typing import IO, Any, ClassVar, Final

from collectorfleet.run.code.decoders import of_xz
from collectorfleet.run.code.members import BadMember

MOST_HEADER_BYTES: Final = 64 * 2**10  # of one member, with its names and attributes
MOST_HEADERS_BYTES: Final = 256 * 2**20  # of all members of a tar
MOST_DIRECTORY_BYTES: Final = 16 * 2**20  # of a zip


class BoundedReads:
    """A bounded view of ``file``. :meth:`begin_member` allows the next header, and :meth:`release` ends all bounds."""

    def __init__(self, file: IO[bytes], what: str, most_bytes: int, most_bytes_of_all: int) -> None:
        """Allow ``most_bytes`` per header, and ``most_bytes_of_all`` for all headers.

        ``what`` names a header in messages.
        """
        self._file = file
        self._what = what
        self._most_bytes = self._left = most_bytes
        self._most_bytes_of_all = self._left_of_all = most_bytes_of_all
        self._is_bounded = True

    def begin_member(self) -> None:
        """Allow the reader to read the header of one more member."""
        self._left = self._most_bytes

    def release(self) -> None:
        """Allow the reader to read any number of bytes from here on."""
        self._is_bounded = False

    def read(self, size: int = -1) -> bytes:
        """Read up to ``size`` bytes, or all if ``size`` is negative. Raises BadMember if a bound is exceeded."""
        if not self._is_bounded:
            return self._file.read(size)
        # One more byte distinguishes a header beyond the bound from a header exactly at the bound.
        found = self._file.read(self._left + 1) if size < 0 else b""
        wanted = len(found) if size < 0 else size
        if wanted > self._left:
            raise BadMember(f"{self._what} has more than {self._most_bytes:,} bytes")
        self._left -= wanted
        self._left_of_all -= wanted
        if self._left_of_all < 0:
            raise BadMember(f"the headers of all members have more than {self._most_bytes_of_all:,} bytes")
        return found if size < 0 else self._file.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def of_zip(file: IO[bytes]) -> BoundedReads:
    """Return a bounded view of the zip in ``file``. Release it after reading the directory."""
    return BoundedReads(file, "the directory of the zip", MOST_DIRECTORY_BYTES, MOST_DIRECTORY_BYTES)


class BoundedTar(tarfile.TarFile):
    """A tar whose headers are bounded; ``fileobj`` is the :class:`BoundedReads` of the uncompressed tar."""

    fileobj: BoundedReads

    # Allow only these compressions. Newer releases of Python add others, and this module does not limit their memory.
    OPEN_METH: ClassVar[dict[str, str]] = {"tar": "taropen", "gz": "gzopen", "bz2": "bz2open", "xz": "xzopen"}

    @classmethod
    def taropen(cls, name: Any, mode: Any = "r", fileobj: Any = None, **options: Any) -> Any:
        """Open the uncompressed tar. ``tarfile.open`` calls this method for each compression."""
        bounded = BoundedReads(fileobj, "the header of a member", MOST_HEADER_BYTES, MOST_HEADERS_BYTES)
        return super().taropen(name, mode, bounded, **options)

    @classmethod
    def xzopen(cls, name: Any, mode: Any = "r", fileobj: Any = None, preset: Any = None, **options: Any) -> Any:
        """Open a tar that is compressed by xz or LZMA. Raises ReadError for other content."""
        del preset
        decoded = of_xz(fileobj)
        try:
            return cls.taropen(name, mode, decoded, **options)
        except (lzma.LZMAError, EOFError) as error:
            decoded.close()
            raise tarfile.ReadError("not an lzma file") from error
        except BaseException:
            decoded.close()
            raise
