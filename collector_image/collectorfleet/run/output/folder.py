"""A run's output on disk: parts that are whole, and a manifest that lists them.

A part is a folder that is written under another name and renamed, and only then listed: what the manifest lists is
complete, whenever the driver was killed. A restarted driver of the same run goes on behind it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from collectorfleet.durable_files import UNFINISHED, rename_folder, write_json
from collectorfleet.errors import UserCodeError

MANIFEST: Final = "manifest.json"


class OutputFolder:
    """The folder at ``path`` and its ``manifest``: those of one run, in one format. One thread."""

    def __init__(self, path: str, empty: Mapping[str, Any]) -> None:
        """Make the folder with the ``empty`` manifest, or take up what is in it.

        Raises UserCodeError where the folder cannot be written to, or holds output of another run or format than
        ``empty`` names.
        """
        self.path = Path(path)
        with self.writing():
            self.path.mkdir(parents=True, exist_ok=True)
            self.manifest = self._found(empty) or dict(empty)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Within it, what the disk refuses is a UserCodeError: the user chose the place."""
        try:
            yield
        except OSError as error:
            raise UserCodeError.of(f"spec.output.path {self.path}", error) from error

    @contextmanager
    def new_part(self, name: str) -> Iterator[Path]:
        """Yields where to write the part; it has its name, and is on disk, afterwards."""
        unfinished = self.path / (UNFINISHED + name)
        yield unfinished
        rename_folder(unfinished, self.path / name)

    def save_manifest(self) -> None:
        write_json(self.path / MANIFEST, self.manifest)

    def remove_unlisted(self, parts: str, listed: Collection[str]) -> None:
        """Remove the parts, whose names match ``parts``, that the manifest does not list.

        They are what an earlier driver was writing, or about to remove, when it was killed.
        """
        for left in [*self.path.glob(f"{UNFINISHED}*"), *self.path.glob(parts)]:
            if left.is_file():
                left.unlink()
            elif left.name not in listed:
                shutil.rmtree(left)

    def _found(self, empty: Mapping[str, Any]) -> dict[str, Any] | None:
        file = self.path / MANIFEST
        if not file.exists():
            return None
        manifest: dict[str, Any] = json.loads(file.read_text())
        if any(manifest.get(key) != empty[key] for key in ("run", "format")):
            raise UserCodeError(
                f"spec.output.path {self.path}",
                f"it holds {manifest.get('frames')} frames of another run of fleet {manifest.get('fleet')}; "
                "use an empty folder, or remove that one",
            )
        return manifest
