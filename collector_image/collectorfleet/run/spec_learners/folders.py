"""The folders of learners beside a run's checkpoints.

Each driver has a folder of its own. An actor of an earlier driver may still be writing, and cannot spoil the files of a
later driver.

They are numbered by what is there: the run's count of drivers stands still while the volume is full.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from collectorfleet.durable_files import is_full
from collectorfleet.learners.record import is_whole
from collectorfleet.run.fenced_folder import FencedFolder

_PREFIX: Final = "learners-"


class LearnerFolders:
    """In ``folder``, that of the run's checkpoints, for a driver that comes after all that have one there."""

    def __init__(self, folder: FencedFolder) -> None:
        self._folder = folder
        self._earlier = sorted(folder.path.glob(f"{_PREFIX}[0-9]*"), key=_number)

    def make_own(self) -> Path:
        """Make the folder of this driver, and return it; on a full volume its first checkpoint makes it."""
        number = _number(self._earlier[-1]) + 1 if self._earlier else 0
        while True:
            own = self._folder.path / f"{_PREFIX}{number:06d}"
            try:
                own.mkdir()
            except FileExistsError:  # of a driver that came at the same moment
                number += 1
                continue
            except OSError as error:
                if not is_full(error):
                    raise
            return own

    def newest(self) -> Path | None:
        """The folder of the newest driver before this one that has a whole checkpoint."""
        return next((folder for folder in reversed(self._earlier) if is_whole(folder)), None)

    def tidy(self, keep: Path | None = None) -> None:
        """Remove those of earlier drivers but ``keep``. Raises FolderTakenOver or OSError."""
        for path in [one for one in self._earlier if one != keep]:
            self._folder.remove(path.name)
            self._earlier.remove(path)


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix(_PREFIX))
