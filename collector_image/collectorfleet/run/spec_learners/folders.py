"""Manage the folders of learners beside a run's checkpoints.

Each driver has its own folder. The next driver has to read the folder of the previous driver. The previous driver may
still write into this folder after losing its fleet. So the next driver first publishes a copy under a name that no
earlier driver uses. The files of the copy are hard links, because each checkpoint of learners writes new files.

A new folder's number is the largest existing number plus 1. The run's count of drivers cannot be used, because it does
not grow while the volume is full. Only the driver that holds the run's folder can publish the next folder.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from collectorfleet.durable_files import describe_failure, is_full
from collectorfleet.learners.record import RECORD, is_file_of_learners, is_whole, parse_record, replay_file_of_0_1
from collectorfleet.run.fenced_folder import FencedFolder

log = logging.getLogger(__name__)

_PREFIX: Final = "learners-"
_NAME: Final = re.compile(rf"{_PREFIX}[0-9]{{6,18}}")
# Errors of a file system without hard links, and of a file with the maximum number of links.
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class LearnerFolders:
    """The folders of learners, for the newest driver. ``folder`` is the folder of the run's checkpoints."""

    def __init__(self, folder: FencedFolder) -> None:
        self._folder = folder
        named = sorted((one for one in folder.path.iterdir() if _NAME.fullmatch(one.name)), key=_number)
        self._earlier = [one for one in named if _is_ours(one)]
        self._next = _number(named[-1]) + 1 if named else 0
        # This driver's folder, and whether this driver has made it. A full volume has no room for the folder.
        self._own: Path | None = None
        self._is_made = False

    def make_own(self) -> Path:
        """Publish the folder of this driver, and return its path. Raises FolderTakenOver or OSError.

        On a full volume, :meth:`writing` publishes the folder later.
        """
        try:
            self._own = self._publish(lambda _place: None)
            self._is_made = True
        except OSError as error:
            if not is_full(error):
                raise
            self._own = self._path(self._next)
        return self._own

    def newest(self) -> Path | None:
        """Return the newest folder of earlier drivers that has a complete checkpoint, or None if no folder has one."""
        return next((folder for folder in reversed(self._earlier) if is_whole(folder)), None)

    def take_newest(self) -> Path | None:
        """Publish a copy of the :meth:`newest` folder. Return the copy's path, or None if there is no such folder.

        No earlier driver changes the copy. On a full volume, return the path of the original folder. Raises
        FolderTakenOver or OSError.
        """
        before = self.newest()
        if before is None:
            return None
        try:
            own = self._publish(lambda place: _link(before, place))
        except OSError as error:
            if not is_full(error):
                raise
            # A rename needs no room. But it takes two steps, through the staging folder, and a crash between the steps
            # would lose the checkpoint.
            log.warning("learners resume from %s itself, not from a copy: %s", before, describe_failure(error))
            return before
        self._earlier.append(own)
        return own

    def check(self) -> None:
        """Raise FolderTakenOver if another driver has taken over the run's folder.

        If the volume had no room for the folder of this driver, or somebody removed the folder, publish the folder now.
        Raises OSError if there is no room.
        """
        self._folder.check()
        if self._own is None or (self._is_made and self._own.exists()):
            return
        # A later driver may have chosen the same name. Publishing fails if there is a later driver.
        with self._folder.publishing(self._own.name) as place:
            place.mkdir()
        self._is_made = True

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Call :meth:`check`, and let the ``with`` block write into the folder of this driver.

        If a newer driver takes over meanwhile, an error of the block is replaced by FolderTakenOver.
        """
        self.check()
        with self.reporting_takeover():
            yield

    def reporting_takeover(self) -> AbstractContextManager[None]:
        """If a newer driver took the folder, replace an error of the ``with`` block by FolderTakenOver."""
        return self._folder.reporting_takeover()

    def tidy(self, keep: Path | None = None) -> None:
        """Remove the folders of earlier drivers except ``keep``. Raises FolderTakenOver or OSError."""
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
                # An earlier driver of the previous release may have made this folder meanwhile. Use the next number.
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not path.exists():
                    raise
                continue
            return path

    def _path(self, number: int) -> Path:
        return self._folder.path / f"{_PREFIX}{number:06d}"


def _link(before: Path, place: Path) -> None:
    """Link the checkpoint in ``before`` into ``place``. The driver of ``before`` may write checkpoints meanwhile."""
    while True:
        text = (before / RECORD).read_bytes()
        for name in {RECORD, *_names_in(text)}:
            # A newer checkpoint may have replaced this one. Names of release 0.1.0 are absent without hard links.
            with suppress(FileNotFoundError):
                _link_file(before / name, place / name)
        if (before / RECORD).read_bytes() == text:
            return
        for file in place.iterdir():
            file.unlink()


def _names_in(index: bytes) -> frozenset[str]:
    """Return the names of the files of a checkpoint, or no names if the index cannot be read."""
    try:
        record = parse_record(index.decode())
    except ValueError:
        return frozenset()  # loading the copy raises the error
    return record.files.union(map(replay_file_of_0_1, range(len(record.slots))))


def _link_file(file: Path, link: Path) -> None:
    try:
        os.link(file, link)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(file, link)


def _is_ours(path: Path) -> bool:
    """Return whether learners wrote the folder. A person's folder may have the same name, and is not removed."""
    if path.is_symlink() or not path.is_dir():
        return False
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        return False  # a newer driver has removed the folder
    # A folder of a newer release may have further files, and the folder of a killed driver has no index.
    return RECORD in names or all(name.startswith(".") or is_file_of_learners(name) for name in names)


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix(_PREFIX))
