"""How much a tree of code may be: data has volumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from collectorfleet.errors import InvalidOption

MOST_BYTES: Final = 512 * 2**20  # also of what it is unpacked from
MOST_FILES: Final = 50_000


@dataclass
class Bounds:
    """What was counted of one tree; ``where`` begins the sentence that refuses more."""

    where: str
    files: int = 0
    size_bytes: int = 0
    fetched_bytes: int = 0

    def unpack(self, size_bytes: int, files: int = 1) -> None:
        """Count what is unpacked next. Raises InvalidOption where that is too much."""
        self.files, self.size_bytes = self.files + files, self.size_bytes + size_bytes
        if self.files > MOST_FILES or self.size_bytes > MOST_BYTES:
            self._refuse(
                f"{self.files:,} files of {self.size_bytes:,} bytes unpacked are more than {MOST_FILES:,} or "
                f"{MOST_BYTES:,}"
            )

    def fetch(self, size_bytes: int) -> None:
        """Count what is fetched. Raises InvalidOption where that is too much."""
        self.fetched_bytes += size_bytes
        if self.fetched_bytes > MOST_BYTES:
            self._refuse(f"more than {MOST_BYTES:,} bytes to fetch")

    def _refuse(self, what: str) -> None:
        raise InvalidOption(f"{self.where}: {what}; put data on a volume, or all of it into an image")
