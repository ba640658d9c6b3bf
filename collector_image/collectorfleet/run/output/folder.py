"""Manage the output of a run on disk: complete parts, and a manifest that lists them.

A part is a folder. It is staged, then published, and then listed in the manifest. So the listed parts are complete,
even if the driver is killed. A restarted driver of the same run continues after the last listed part. A driver that
lost its fleet can change nothing in the folder: see :mod:`collectorfleet.run.fenced_folder`.

Each part contains its run and its name, in the file ``.part.json``. A folder without this file belongs to somebody
else, even if it has the name of a part.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from collectorfleet.durable_files import describe_failure, is_temporary, mapping_error, name_path
from collectorfleet.errors import CollectorFleetError, InfrastructureError, UserCodeError, describe
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.folders import holds_anything, make
from collectorfleet.run.output.entries import counter_problem
from collectorfleet.stored_json import parse_json
from collectorfleet_api.counts import counted

log = logging.getLogger(__name__)

MANIFEST: Final = "manifest.json"
PART: Final = ".part.json"


class OutputFolder:
    """The output folder of one run in one format, with its ``manifest``. Use it in one thread.

    The names of its parts begin with the argument ``part``: ``shard-000000``, ``shard-000001`` and so on.
    """

    def __init__(
        self,
        path: str,
        part: str,
        empty: Mapping[str, Any],
        problem_in: Callable[[Mapping[str, Any]], str | None] = lambda _manifest: None,
    ) -> None:
        """Make the folder with the ``empty`` manifest, or continue the output in it.

        ``problem_in`` is called with a manifest whose entries have the same types as the entries of ``empty``. It
        returns the problem with the entries of the manifest, or None if the entries are correct.

        Raises UserCodeError if the folder cannot be written to, or if its output differs from ``empty`` in the run or
        the format. Raises UserCodeError also if the folder has any other content. Raises FolderTakenOver if another
        driver takes the folder at the same moment.
        """
        self.path = Path(path).absolute()  # the user's code may change the current folder
        self._part = part
        self._problem_in = problem_in
        self._files = FencedFolder(self.path)
        with self.writing():
            make(self.path)
            self._found(empty)  # check before taking the folder, which may belong to another run
            self._files.take()
            with self._files.reporting_takeover():
                self.manifest = self._found(empty) or dict(empty)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turn errors of the disk inside the ``with`` block into UserCodeError, because the user chose the path.

        If the volume is full or fails, raise InfrastructureError instead, because a retry may help.
        """
        try:
            yield
        except OSError as error:
            raise self._failure(error) from error
        except RuntimeError as error:
            refused = mapping_error(error)
            if refused is None:
                raise
            raise self._failure(refused) from error

    def _failure(self, error: OSError) -> CollectorFleetError:
        name_path(error, self.path)
        where, cause = f"spec.output.path {self.path}", describe_failure(error)
        return InfrastructureError(f"{where}: {cause}") if is_temporary(error) else UserCodeError(where, cause)

    def name_after(self, last: str | None) -> str:
        """Return the name of the part that follows ``last``, or of the first part if ``last`` is None.

        The name is unused. Numbers in the names of other files and folders are skipped.
        """
        number = int(last.removeprefix(f"{self._part}-")) + 1 if last else 0
        while os.path.lexists(self.path / self._name_of(number)):
            number += 1
        return self._name_of(number)

    def _name_of(self, number: int) -> str:
        return f"{self._part}-{number:06d}"

    @contextmanager
    def new_part(self, name: str) -> Iterator[Path]:
        """Yield a path to write the part to. At the end of the block, the part is synced and published as ``name``.

        Raises FolderTakenOver or OSError. After an error, the part is removed.
        """
        with self._files.publishing(name) as unfinished:
            yield unfinished
            if unfinished.is_dir():
                (unfinished / PART).write_text(json.dumps(self._signature(name)))

    def save_manifest(self) -> None:
        """Write the manifest to disk. Raises FolderTakenOver or OSError."""
        self._files.put(MANIFEST, self.manifest)

    def remove_part(self, name: str) -> None:
        """Remove an unlisted part. Only log an OSError, because a leftover part only takes space."""
        try:
            self._files.remove(name)
        except OSError as error:
            log.warning("%s in %s is not needed and cannot be removed: %s", name, self.path, describe(error))

    def remove_unlisted(self, listed: Collection[str]) -> None:
        """Remove the parts of this run that the manifest does not list.

        An earlier driver had just written these parts, or was about to remove them, when it was killed.
        """
        for one in list(self.path.iterdir()):
            if not re.fullmatch(rf"{self._part}-\d{{6,}}", one.name) or one.name in listed:
                continue
            if self._is_ours(one):
                self.remove_part(one.name)
            else:
                log.warning("%s was not written by this run and is kept: it has no %s of the run", one, PART)

    def _is_ours(self, part: Path) -> bool:
        # A link may lead to a part of this run that a person moved elsewhere.
        if part.is_symlink():
            return False
        try:
            return _read(part / PART) == self._signature(part.name)
        except OSError:
            return False

    def _signature(self, name: str) -> dict[str, Any]:
        return {"run": self.manifest["run"], "part": name}

    def _found(self, empty: Mapping[str, Any]) -> dict[str, Any] | None:
        file = self.path / MANIFEST
        # Look for other files before reading the manifest. Another driver may start now, and the manifest is the first
        # file that a driver publishes.
        is_used = holds_anything(self.path)
        if not file.exists():
            if is_used:
                raise self._refusal("it is not empty and has no output of a fleet")
            return None
        manifest = _read(file)
        if manifest is None or not _has_types_of(empty, manifest):
            raise self._refusal(f"its {MANIFEST} was not written by a fleet")
        if any(manifest[key] != empty[key] for key in ("run", "format")):
            frames = counted(manifest["frames"], "frame")
            raise self._refusal(f"it has {frames} of another run of fleet {manifest['fleet']}")
        problem = counter_problem(manifest, *(key for key, value in empty.items() if type(value) is int))
        problem = problem or self._problem_in(manifest)
        if problem is not None:
            raise self._refusal(f"its {MANIFEST} was not written by a fleet: {problem}")
        return manifest

    def _refusal(self, why: str) -> UserCodeError:
        return UserCodeError(f"spec.output.path {self.path}", f"{why}; use an empty folder")


def _has_types_of(empty: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Return whether ``manifest`` has all keys of ``empty``, with values of the same types.

    If a value in ``empty`` is None, ``manifest`` may have any value.
    """
    return all(
        key in manifest and (value is None or type(manifest[key]) is type(value)) for key, value in empty.items()
    )


def _read(file: Path) -> dict[str, Any] | None:
    """Return the JSON object in ``file``, or None for other content. Raises OSError if the file cannot be read."""
    try:
        found = parse_json(file.read_text())
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
