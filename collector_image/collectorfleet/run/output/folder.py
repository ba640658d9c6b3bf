"""A run's output on disk: parts that are whole, and a manifest that lists them.

A part is a folder that is staged and published, and only then listed: what the manifest lists is complete, whenever the
driver was killed. A restarted driver of the same run goes on behind it. A driver that lost its fleet can change none of
this: see :mod:`collectorfleet.run.fenced_folder`.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from collectorfleet.durable_files import mapping_error, may_pass
from collectorfleet.errors import CollectorFleetError, InfrastructureError, UserCodeError, describe
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.folders import holds_anything

log = logging.getLogger(__name__)

MANIFEST: Final = "manifest.json"


class OutputFolder:
    """The folder at ``path`` and its ``manifest``: those of one run, in one format. One thread.

    Its parts are called ``part-000000``, ``part-000001`` and so on, with the name ``part``.
    """

    def __init__(self, path: str, part: str, empty: Mapping[str, Any]) -> None:
        """Make the folder with the ``empty`` manifest, or take up what is in it.

        Raises UserCodeError if the folder cannot be written to, has output of another run or format than ``empty``
        names, or has any other content. Raises FolderTakenOver if another driver takes it at this moment.
        """
        self.path = Path(path)
        self._part = part
        self._files = FencedFolder(self.path)
        with self.writing():
            self.path.mkdir(parents=True, exist_ok=True)
            self._found(empty)  # before it is taken: it may be another run's
            self._files.take()
            with self._files.watched():
                self.manifest = self._found(empty) or dict(empty)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turn errors of the disk inside the ``with`` block into UserCodeError: the user chose the place.

        A volume that is full or fails is an InfrastructureError: another try may find it mended.
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
        made = InfrastructureError if may_pass(error) else UserCodeError
        return made.of(f"spec.output.path {self.path}", error)

    def name_of(self, number: int) -> str:
        """Return the name of a part."""
        return f"{self._part}-{number:06d}"

    @contextmanager
    def new_part(self, name: str) -> Iterator[Path]:
        """Yields where to write the part; it has its name, and is on disk, afterwards.

        Raises FolderTakenOver or OSError; nothing is left of the part then.
        """
        with self._files.publishing(name) as unfinished:
            yield unfinished

    def save_manifest(self) -> None:
        """Raises FolderTakenOver or OSError."""
        self._files.put(MANIFEST, self.manifest)

    def remove_part(self, name: str) -> None:
        """Remove a part that the manifest does not list. Where that fails it takes room, and harms nobody."""
        try:
            self._files.remove(name)
        except OSError as error:
            log.warning("%s in %s is not needed and cannot be removed: %s", name, self.path, describe(error))

    def remove_unlisted(self, listed: Collection[str]) -> None:
        """Remove the parts that the manifest does not list.

        They are what an earlier driver had just written, or was about to remove, when it was killed.
        """
        for one in list(self.path.iterdir()):
            if re.fullmatch(rf"{self._part}-\d{{6,}}", one.name) and one.is_dir() and one.name not in listed:
                self.remove_part(one.name)

    def _found(self, empty: Mapping[str, Any]) -> dict[str, Any] | None:
        file = self.path / MANIFEST
        # Looked at first: another driver may begin here at this moment, and publishes that file before anything else.
        is_used = holds_anything(self.path)
        if not file.exists():
            if is_used:
                raise self._refusal("it is not empty and holds no output of a fleet")
            return None
        manifest = _read(file)
        if manifest is None or not empty.keys() <= manifest.keys():
            raise self._refusal(f"its {MANIFEST} is not one that a fleet wrote")
        if any(manifest[key] != empty[key] for key in ("run", "format")):
            raise self._refusal(f"it holds {manifest['frames']} frames of another run of fleet {manifest['fleet']}")
        return manifest

    def _refusal(self, why: str) -> UserCodeError:
        return UserCodeError(f"spec.output.path {self.path}", f"{why}; use an empty folder")


def _read(file: Path) -> dict[str, Any] | None:
    """None for what is no object in JSON."""
    try:
        found = json.loads(file.read_text())
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
