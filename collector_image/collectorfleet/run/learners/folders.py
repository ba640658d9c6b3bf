"""Where learners are kept beside a run's checkpoints: each driver's in a folder of its own, so that no actor of an
earlier one, which may still be writing, spoils what a later one has.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from collectorfleet.learners.record import is_whole

_PREFIX: Final = "learners-"


class LearnerFolders:
    """In ``path``, the folder of the run's checkpoints, for the driver that ``starts`` others came before."""

    def __init__(self, path: Path, starts: int) -> None:
        self.own = path / f"{_PREFIX}{starts:06d}"
        self._path = path

    def newest(self) -> Path | None:
        """The folder of the newest driver before this one that has a whole checkpoint."""
        return next((folder for folder in reversed(self._earlier()) if is_whole(folder)), None)

    def tidy(self) -> None:
        """Remove those of earlier drivers. Raises OSError."""
        for folder in self._earlier():
            shutil.rmtree(folder)

    def _earlier(self) -> list[Path]:
        return sorted(one for one in self._path.glob(f"{_PREFIX}*") if one.name < self.own.name)
