"""A folder on shared storage that one driver at a time changes: the driver that took it last.

A driver may lose its fleet without knowing it, for instance on a node that was cut off, and go on writing. So each
driver writes into a staging folder of its own. The driver publishes a finished file or folder by a rename out of the
staging folder. It removes one by a rename into the staging folder. A newcomer takes the staging folders of earlier
drivers away before it reads anything. From then on, each rename of an earlier driver fails, however long that driver
was paused before it.

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
# A folder with open files, below a layer of an image, or of another user.
_UNMOVABLE: Final = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV)


class FencedFolder:
    """The folder at ``path``, which exists. Several threads of one driver may publish different names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn: Turn | None = None
        self._least_number = 1
        # What could not be taken away from a full volume: of earlier drivers.
        self._left: frozenset[Turn] = frozenset()
        self._lock = threading.RLock()

    @property
    def drivers_before(self) -> int:
        """How many drivers took the folder before this one; as far as is known while the volume is full."""
        return self._least_number - 1 if self._turn is None else self._turn.number - 1

    def take(self, drivers_before: int = 0) -> None:
        """Become the driver that changes the folder; blocks until no earlier driver can.

        ``drivers_before`` is the least number of drivers before this one. Raises OSError or FolderTakenOver. If
        the volume is full, this driver tries again at its next change.
        """
        self._least_number = drivers_before + 1
        try:
            self._turn = self._create()
        except OSError as error:
            if not is_full(error):
                raise
            self._turn = self._take_from_last()
        with self.watched():
            if self._turn is not None:
                self._take_away_earlier(self._turn)
            # The previous release wrote into the folder itself under such names.
            for left in self.path.glob(f"{UNFINISHED}*"):
                remove(left)
            self._own_staging()  # or the volume is full

    def check(self) -> None:
        """Raise FolderTakenOver if a newer driver took the folder, OSError if that cannot be found out."""
        with self.watched():
            self._own_staging()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Raise FolderTakenOver in place of an error inside the ``with`` block if a newer driver took the folder."""
        try:
            yield
        except Exception:
            with self._lock:
                self._raise_if_taken_over()
            raise

    def stage(self, name: str) -> Path:
        """Return a place below the staging folder with nothing there. Raises FolderTakenOver or OSError."""
        with self.watched():
            place = self._own_staging() / name
            remove(place)  # of a try that failed
            return place

    @contextmanager
    def publishing(self, name: str) -> Iterator[Path]:
        """Yield a path to write a file or folder to. At the end it is synced to disk and published as ``name``.

        Raises FolderTakenOver or OSError, or the error of the caller. After an error, what was staged is removed.
        """
        place = self.stage(name)
        try:
            with self.watched():
                yield place
                sync_tree(place)
                # Once more: a library may have made the staging folder anew after a newer driver took it away.
                self._own_staging()
                os.rename(place, self.path / name)
                sync(self.path)
        except BaseException as error:
            if isinstance(error, OSError):
                name_path(error, self.path / name)
            # On a full volume it would keep the room that others need.
            with suppress(OSError):
                remove(place)
            raise

    def put(self, name: str, content: Any) -> None:
        """Publish ``content`` as the JSON file ``name``. Raises FolderTakenOver or OSError."""
        with self.publishing(name) as place:
            place.write_text(json.dumps(content, indent=1))

    def remove(self, name: str) -> None:
        """Remove a file or folder, if it is there, also from a full volume. Raises FolderTakenOver or OSError."""
        with self.watched():
            try:
                place = self.stage(f"removed-{name}")
                os.rename(self.path / name, place)
            except FileNotFoundError:
                if (self.path / name).exists():
                    raise
                return  # somebody removed it
            except OSError as error:
                if not is_full(error):
                    raise
                place = self.path / name  # some file systems have no room for a new name either
            remove(place)

    def _own_staging(self) -> Path:
        """Return the staging folder of this driver. Raises FolderTakenOver or OSError."""
        with self._lock:
            if self._turn is None or not is_signed(self.path, self._turn):
                self._raise_if_taken_over()
                self._turn = self._make_anew()
            return self.path / self._turn.name

    def _make_anew(self) -> Turn:
        """Make the staging folder that the volume had no room for, or that somebody removed.

        The place in the order stays: drivers that came meanwhile are later. Raises FolderTakenOver if there are any.
        """
        number = max([self._least_number, *(one.number + 1 for one in self._left)])
        turn = self._turn or Turn(number, secrets.token_hex(4))
        place = self.path / turn.name
        was_there = place.exists()
        place.mkdir(exist_ok=True)
        # Looked at once more, now that whoever comes from here on sees this one.
        if self._later_than(turn if was_there else None, turn):
            remove(place)
            self._raise_if_taken_over()
        try:
            self._sign(turn)
        except OSError:
            if not was_there:
                remove(place)
            raise
        self._take_away_earlier(turn)
        return turn

    def _later_than(self, turn: Turn | None, own: Turn | None) -> list[Turn]:
        """Drivers that came after ``turn``; without one, all but ``own`` and those of whom it is known to be left."""
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
            told = f"{found['driver']}, since {found['since']}" if found else "another"
            raise FolderTakenOver(self.path, told)

    def _create(self) -> Turn:
        """Make a staging folder whose turn is the last one."""
        while True:
            number = max([self._least_number, *(one.number + 1 for one in turns_in(self.path))])
            turn = Turn(number, secrets.token_hex(4))
            place = self.path / turn.name
            place.mkdir()
            try:
                self._sign(turn)
            except FileNotFoundError:  # a driver that came at the same moment took it away
                time.sleep(_PAUSE_SECONDS)
                continue
            except OSError:
                remove(place)
                raise
            # Two that come at the same moment may have the same number. At least one of them sees the other here.
            if max([turn, *turns_in(self.path)]) == turn:
                return turn
            remove(place)

    def _take_from_last(self) -> Turn | None:
        """Make the staging folder of the last driver one's own: that needs no room on most file systems.

        None if there is no such folder, or not even room for another name.
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

    def _take_away_earlier(self, turn: Turn) -> None:
        while earlier := [one for one in turns_in(self.path) if one < turn]:
            for one in earlier:
                place = self.path / turn.name / f"taken{one.name}"
                try:
                    os.rename(self.path / one.name, place)
                except FileNotFoundError:
                    self._raise_if_taken_over()  # or its driver found itself the earlier one, and took it away
                    time.sleep(_PAUSE_SECONDS)
                    continue
                except OSError as error:
                    if error.errno not in _UNMOVABLE:
                        raise
                    place = self.path / one.name
                # Its driver looks for that file before it publishes anything.
                (place / DRIVER).unlink(missing_ok=True)
                # A node of a network file system may know the staging folder by its old name for a minute. Once the
                # folder is removed, nothing can be published from it.
                try:
                    remove(place)
                except OSError as error:
                    if place.parent == self.path:
                        raise
                    log.warning("%s: unfinished files of an earlier driver remain: %s", self.path, describe(error))
