"""Fence a folder on shared storage, so that only the newest driver can change the folder.

A driver may lose its fleet without noticing, for instance on a partitioned node, and continue to write. So each driver
writes into its own staging folder. The name of this folder contains the driver's *turn*: its place in the order in
which drivers took the folder. To publish a finished file or folder, the driver renames it out of the staging folder. To
remove a file or folder, the driver renames it into the staging folder. A new driver takes away the staging folders of
earlier drivers before it reads anything. From then on, an earlier driver cannot rename anything in the folder, even if
it continues after a long pause.

::

    <folder>/
      .driver-000002-5f0c1a2b/    the staging folder of the second driver
        driver.json               {"driver": "cartpole-driver-x7x2k, process 1", "since": "2026-11-27T09:00:00+00:00"}
"""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from collectorfleet.durable_files import UNFINISHED, is_full, name_path, sync, sync_tree
from collectorfleet.errors import FolderTakenOver, describe
from collectorfleet.run.folders import remove
from collectorfleet.run.staging import DRIVER, Turn, is_signed, read_driver, sign, turns_in

log = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 0.05
# Errors for a folder that has open files, is in a lower layer of an image, or belongs to another user.
_UNMOVABLE: Final = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV)


class FencedFolder:
    """The folder at ``path``, which exists. Several threads of one driver may publish different names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn: Turn | None = None
        self._least_number = 1
        # Staging folders of earlier drivers that could not be taken away, because the volume is full.
        self._left: frozenset[Turn] = frozenset()
        self._lock = threading.RLock()

    @property
    def drivers_before(self) -> int:
        """The number of drivers that took the folder before this driver. On a full volume the number may be too low."""
        return self._least_number - 1 if self._turn is None else self._turn.number - 1

    def take(self, drivers_before: int = 0) -> None:
        """Become the only driver that changes the folder. Blocks until no earlier driver can change it.

        ``drivers_before`` is the minimum number of earlier drivers. Raises OSError or FolderTakenOver. If the volume is
        full, this driver tries again at its next change.
        """
        self._least_number = drivers_before + 1
        try:
            self._turn = self._create()
        except OSError as error:
            if not is_full(error):
                raise
            self._turn = self._take_from_last()
        with self.reporting_takeover():
            if self._turn is not None:
                self._fence_earlier(self._turn)
            # The previous release wrote unfinished files directly into the folder.
            for left in self.path.glob(f"{UNFINISHED}*"):
                remove(left)
            self._own_staging()  # tries again to make the staging folder if the volume was full

    def check(self) -> None:
        """Raise FolderTakenOver if a newer driver took the folder, and OSError if the check fails."""
        with self.reporting_takeover():
            self._own_staging()

    def release(self) -> None:
        """Remove the staging folder of this driver, after its last change. Raises FolderTakenOver or OSError."""
        with self.reporting_takeover():
            remove(self._own_staging())

    @contextmanager
    def reporting_takeover(self) -> Iterator[None]:
        """If a newer driver took the folder, replace an error of the ``with`` block by FolderTakenOver."""
        try:
            yield
        except Exception:
            with self._lock:
                self._raise_if_taken_over()
            raise

    def stage(self, name: str) -> Path:
        """Return a free path in the staging folder. Raises FolderTakenOver or OSError."""
        with self.reporting_takeover():
            place = self._own_staging() / name
            remove(place)  # left from a failed try
            return place

    @contextmanager
    def publishing(self, name: str) -> Iterator[Path]:
        """Yield a path for a file or folder. The end of the block syncs the path to disk and publishes it as ``name``.

        Raises FolderTakenOver, OSError or the error that the block raises. After an error, the staged path is removed.
        """
        place = self.stage(name)
        try:
            with self.reporting_takeover():
                yield place
                sync_tree(place)
                # Check again: a library may have recreated the staging folder after a newer driver took it away.
                self._own_staging()
                os.rename(place, self.path / name)
                sync(self.path)
        except BaseException as error:
            if isinstance(error, OSError):
                name_path(error, self.path / name)
            # Remove the staged files, which would take space on a full volume.
            with suppress(OSError):
                remove(place)
            raise

    def put(self, name: str, content: Any) -> None:
        """Publish ``content`` as the JSON file ``name``. Raises FolderTakenOver or OSError."""
        with self.publishing(name) as place:
            # Without indentation, Python uses its encoder in C. The manifest of a long output may have 250,000 shards.
            place.write_text(json.dumps(content))

    def remove(self, name: str) -> None:
        """Remove a file or folder if it exists, also on a full volume. Raises FolderTakenOver or OSError."""
        with self.reporting_takeover():
            try:
                place = self.stage(f"removed-{name}")
                os.rename(self.path / name, place)
            except FileNotFoundError:
                if (self.path / name).exists():
                    raise
                return  # already removed
            except OSError as error:
                if not is_full(error):
                    raise
                place = self.path / name  # a full file system may have no room for a new name
            remove(place)

    def _own_staging(self) -> Path:
        """Return the staging folder of this driver. Raises FolderTakenOver or OSError."""
        with self._lock:
            if self._turn is None or not is_signed(self.path, self._turn):
                self._raise_if_taken_over()
                self._turn = self._make_anew()
            return self.path / self._turn.name

    def _make_anew(self) -> Turn:
        """Make the staging folder again, after the volume was full or somebody removed it.

        The turn of this driver does not change. Raises FolderTakenOver if other drivers took a later turn meanwhile.
        """
        number = max([self._least_number, *(one.number + 1 for one in self._left)])
        turn = self._turn or Turn(number, secrets.token_hex(4))
        place = self.path / turn.name
        was_there = place.exists()
        place.mkdir(exist_ok=True)
        # Check for later drivers now, because each driver that starts after this point sees this staging folder.
        if self._later_than(turn if was_there else None, turn):
            remove(place)
            self._raise_if_taken_over()
        try:
            self._sign(turn)
        except OSError:
            if not was_there:
                remove(place)
            raise
        self._fence_earlier(turn)
        return turn

    def _later_than(self, turn: Turn | None, own: Turn | None) -> list[Turn]:
        """Return the turns after ``turn``, or all turns if it is None. ``own`` and leftover turns are excluded."""
        others = (one for one in turns_in(self.path) if one != own and one not in self._left)
        return [one for one in others if turn is None or one > turn]

    def _sign(self, turn: Turn) -> None:
        sign(self.path, turn)

    def _raise_if_taken_over(self) -> None:
        turn = self._turn
        if turn is not None and is_signed(self.path, turn):
            return
        is_there = turn is not None and (self.path / turn.name).exists()
        later = self._later_than(turn if is_there else None, turn)
        if later:
            found = read_driver(self.path / max(later).name)
            driver = f"{found['driver']}, since {found['since']}" if found else "another"
            raise FolderTakenOver(self.path, driver)

    def _create(self) -> Turn:
        """Make a staging folder whose turn is later than all other turns. Return the turn."""
        while True:
            number = max([self._least_number, *(one.number + 1 for one in turns_in(self.path))])
            turn = Turn(number, secrets.token_hex(4))
            place = self.path / turn.name
            place.mkdir()
            try:
                self._sign(turn)
            except FileNotFoundError:  # a driver that started at the same moment took the folder away
                time.sleep(_PAUSE_SECONDS)
                continue
            except OSError:
                remove(place)
                raise
            # Two drivers that start at the same moment may have the same number. At least one of them sees the other's
            # folder here.
            if max([turn, *turns_in(self.path)]) == turn:
                return turn
            remove(place)

    def _take_from_last(self) -> Turn | None:
        """Rename the last driver's staging folder, so that it becomes this driver's staging folder.

        Most file systems need no space for a rename. Return None if there is no such folder, or if the volume has no
        space for the new name.
        """
        turns = turns_in(self.path)
        if not turns:
            return None
        turn = Turn(max(self._least_number, max(turns).number + 1), secrets.token_hex(4))
        place = self.path / turn.name
        try:
            os.rename(self.path / max(turns).name, place)
        except FileNotFoundError:
            return None  # another driver was faster
        except OSError as error:
            if not is_full(error):
                raise
            self._left = frozenset(turns)
            return None
        for left in sorted(place.iterdir(), key=lambda one: one.name != DRIVER):
            remove(left)
        return turn

    def _fence_earlier(self, turn: Turn) -> None:
        while earlier := [one for one in turns_in(self.path) if one < turn]:
            for one in earlier:
                place = self.path / turn.name / f"taken{one.name}"
                try:
                    os.rename(self.path / one.name, place)
                except FileNotFoundError:
                    self._raise_if_taken_over()  # no error: that driver saw a later turn and removed its folder
                    time.sleep(_PAUSE_SECONDS)
                    continue
                except OSError as error:
                    if error.errno not in _UNMOVABLE:
                        raise
                    place = self.path / one.name
                # The earlier driver checks for this file before it publishes anything.
                (place / DRIVER).unlink(missing_ok=True)
                # A client of a network file system may cache the folder's old name for a minute. After the removal of
                # this file, the earlier driver can publish nothing from the folder.
                try:
                    remove(place)
                except OSError as error:
                    if place.parent == self.path:
                        raise
                    log.warning("%s: unfinished files of an earlier driver remain: %s", self.path, describe(error))
