"""Where learners are kept beside a run's checkpoints: each driver's in a folder of its own, so that no actor of an
earlier one, which may still be writing, spoils what a later one has.

They are numbered by what is there: the run's count of drivers stands still while the volume is full.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from collectorfleet.learners.record import is_whole

_PREFIX: Final = "learners-"


class LearnerFolders:
    """In ``path``, the folder of the run's checkpoints, for a driver that comes after all that have one there."""

    def __init__(self, path: Path) -> None:
        self._earlier = sorted(path.glob(f"{_PREFIX}[0-9]*"), key=_number)
        self.own = path / f"{_PREFIX}{_number(self._earlier[-1]) + 1 if self._earlier else 0:06d}"

    def newest(self) -> Path | None:
        """The folder of the newest driver before this one that has a whole checkpoint."""
        return next((folder for folder in reversed(self._earlier) if is_whole(folder)), None)

    def tidy(self, keep: Path | None = None) -> None:
        """Remove those of earlier drivers but ``keep``. Raises OSError."""
        for folder in [one for one in self._earlier if one != keep]:
            shutil.rmtree(folder)
            self._earlier.remove(folder)


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix(_PREFIX))
