"""Limit the size of a code tree. Data belongs on volumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from collectorfleet.errors import InvalidOption
from collectorfleet_api.counts import counted

MOST_BYTES: Final = 512 * 2**20  # of the unpacked tree, and of the fetched files
MOST_FILES: Final = 50_000
MOST_FOLDER_BYTES: Final = 16 * 2**20
MOST_INFLATED_BYTES: Final = 2 * MOST_BYTES  # of a git pack, including trees and deltas


@dataclass
class Bounds:
    """Counts the files and bytes of one code tree, and limits them. Messages about a limit begin with ``where``."""

    where: str
    files: int = 0
    size_bytes: int = 0
    fetched_bytes: int = 0
    inflated_bytes: int = 0

    def unpack(self, size_bytes: int, files: int = 1) -> None:
        """Count unpacked files and their bytes. Raises InvalidOption if the limit is exceeded."""
        self.files, self.size_bytes = self.files + files, self.size_bytes + size_bytes
        if self.files > MOST_FILES or self.size_bytes > MOST_BYTES:
            self._refuse(
                f"{counted(self.files, 'file', by_thousands=True)} of {self.size_bytes:,} bytes unpacked "
                f"{'exceeds' if self.files == 1 else 'exceed'} the limit of {MOST_FILES:,} files or {MOST_BYTES:,} "
                "bytes"
            )

    def fetch(self, size_bytes: int) -> None:
        """Count fetched bytes. Raises InvalidOption if the limit is exceeded."""
        self.fetched_bytes += size_bytes
        if self.fetched_bytes > MOST_BYTES:
            self._refuse(f"more than {MOST_BYTES:,} bytes to fetch")

    def objects(self, count: int, most: int) -> None:
        """Raise InvalidOption if a commit has more than ``most`` objects."""
        if count > most:
            self._refuse(f"{count:,} objects exceed the limit of {most:,}")

    def folder(self, size_bytes: int) -> None:
        """Raise InvalidOption if the list of names in a folder is too large."""
        if size_bytes > MOST_FOLDER_BYTES:
            self._refuse(
                f"the names in a folder take {size_bytes:,} bytes, more than the limit of {MOST_FOLDER_BYTES:,}"
            )

    def inflate(self, size_bytes: int) -> None:
        """Count the unpacked size of one object of a git pack. Raises InvalidOption if the limit is exceeded."""
        self.inflated_bytes += size_bytes
        if self.inflated_bytes > MOST_INFLATED_BYTES:
            self._refuse(
                f"objects of {self.inflated_bytes:,} bytes, unpacked from {self.fetched_bytes:,} fetched bytes, exceed "
                f"the limit of {MOST_INFLATED_BYTES:,} bytes"
            )

    def _refuse(self, what: str) -> None:
        raise InvalidOption(f"{self.where}: {what}; put data on a volume, or put code and data into an image")
