"""The folders of learners beside a run's checkpoints.

Each driver has a folder of its own. A driver that lost its fleet may still write into its folder, which the next driver
has to read. So the next driver first publishes a copy of the files under a name that no earlier driver knows. The files
of the copy are hard links: learners replace their files, and never change them.

The folders are numbered by what is there: the run's count of drivers stands still while the volume is full. Only the
driver that has the run's folder can publish the next one.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from collectorfleet.durable_files import UNFINISHED, failure_of, is_full
from collectorfleet.learners.record import RECORD, is_whole
from collectorfleet.run.fenced_folder import FencedFolder

log = logging.getLogger(__name__)

_PREFIX: Final = "learners-"
# A file system without hard links, or one whose file has as many as there can be.
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class LearnerFolders:
    """In ``folder``, that of the run's checkpoints, for a driver that comes after all that have one there."""

    def __init__(self, folder: FencedFolder) -> None:
        self._folder = folder
        self._earlier = sorted(folder.path.glob(f"{_PREFIX}[0-9]*"), key=_number)
        self._next = _number(self._earlier[-1]) + 1 if self._earlier else 0

    def make_own(self) -> Path:
        """Publish the folder of this driver, and return it; on a full volume its first checkpoint makes it.

        Raises FolderTakenOver or OSError.
        """
        try:
            return self._publish(lambda _place: None)
        except OSError as error:
            if not is_full(error):
                raise
            return self._path(self._next)

    def newest(self) -> Path | None:
        """Return the folder of the newest driver before this one that has a whole checkpoint."""
        return next((folder for folder in reversed(self._earlier) if is_whole(folder)), None)

    def take_newest(self) -> Path | None:
        """Publish a copy of :meth:`newest` that no earlier driver changes, and return it.

        On a full volume it is the folder itself. Raises FolderTakenOver or OSError.
        """
        before = self.newest()
        if before is None:
            return None
        try:
            own = self._publish(lambda place: _link(before, place))
        except OSError as error:
            if not is_full(error):
                raise
            log.warning("learners resume from %s itself, not from a copy: %s", before, failure_of(error))
            return before
        self._earlier.append(own)
        return own

    def check(self) -> None:
        """Raise FolderTakenOver if another driver has the run's folder."""
        self._folder.check()

    def tidy(self, keep: Path | None = None) -> None:
        """Remove those of earlier drivers but ``keep``. Raises FolderTakenOver or OSError."""
        for path in [one for one in self._earlier if one != keep]:
            self._folder.remove(path.name)
            self._earlier.remove(path)

    def _publish(self, fill: Callable[[Path], None]) -> Path:
        while True:
            path = self._path(self._next)
            self._next += 1
            try:
                with self._folder.publishing(path.name) as place:
                    place.mkdir()
                    fill(place)
            except OSError as error:
                # A driver of the previous release, which is displaced, may still make one.
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not path.exists():
                    raise
                continue
            return path

    def _path(self, number: int) -> Path:
        return self._folder.path / f"{_PREFIX}{number:06d}"


def _link(before: Path, place: Path) -> None:
    """Fill ``place`` with the files of ``before``, whose driver may still replace and add some."""
    # The record first: whatever it names is there.
    names = sorted(os.listdir(before), key=lambda name: name != RECORD)
    for name in names:
        if name.startswith(UNFINISHED):
            continue
        try:
            os.link(before / name, place / name)
        except FileNotFoundError:
            continue  # of a policy that was removed
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            shutil.copyfile(before / name, place / name)


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix(_PREFIX))
