"""A folder of Python code as the archive that ``spec.code.archive`` names."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from collectorfleet.client.errors import ClusterError
from collectorfleet_api import names

# Of an object in etcd, a little of which is needed around the archive.
MOST_BYTES: Final = 700 * 1024
IGNORE_FILE: Final = ".collectorfleetignore"
KEY: Final = "code.tar.gz"
# Nothing that is imported, and of no use elsewhere.
_IGNORED: Final = (".*", "__pycache__", "*.pyc", "*.egg-info")
_DIGITS: Final = 10


class TooLarge(ClusterError):
    """A folder that does not fit into a ConfigMap."""


@dataclass(frozen=True)
class Tree:
    """A packed folder: the same files make the same bytes, wherever and whenever it is packed."""

    archive: bytes
    files: int

    @property
    def sha256(self) -> str:
        """In hexadecimal digits."""
        return hashlib.sha256(self.archive).hexdigest()

    def config_map(self, fleet: str) -> dict[str, Any]:
        """The ConfigMap that holds it, named by the fleet and by what is in it. Raises TooLarge."""
        if len(self.archive) > MOST_BYTES:
            raise TooLarge(
                f"{self.files} files are {len(self.archive):,} bytes packed, and a ConfigMap holds {MOST_BYTES:,}: "
                f"name what is not needed in {IGNORE_FILE}, put the tree into a repository or a registry "
                "(spec.code.git, spec.code.artifact), or into an image"
            )
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self.config_map_name(fleet), "labels": {names.FLEET_LABEL: fleet}},
            "immutable": True,
            "binaryData": {KEY: base64.b64encode(self.archive).decode()},
        }

    def config_map_name(self, fleet: str) -> str:
        return f"{fleet}-code-{self.sha256[:_DIGITS]}"

    def code(self, fleet: str, path: str | None = None) -> dict[str, Any]:
        """The ``spec.code`` of a fleet that runs it, with its folder ``path`` on the import path."""
        found: dict[str, Any] = {
            "archive": {"configMap": self.config_map_name(fleet), "key": KEY, "sha256": self.sha256}
        }
        return {**found, "path": path} if path else found


def pack(folder: Path, *, without: Collection[Path] = ()) -> Tree:
    """Pack the files below ``folder``, but for those ``without``.

    Left out are hidden ones, what Python compiles, and what a line of ``.collectorfleetignore`` matches: a name, or a
    path below the folder, with ``*``.
    """
    ignored = (*_IGNORED, *_lines(folder / IGNORE_FILE))
    apart = {path.resolve() for path in without}
    found = [path for path in _files(folder, folder, ignored) if path.resolve() not in apart]
    packed = io.BytesIO()
    # No times, owners or names of machines: they would make another archive of the same files.
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tree,
    ):
        for path in found:
            content = path.read_bytes()
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size, member.mode = len(content), 0o644
            tree.addfile(member, io.BytesIO(content))
    return Tree(packed.getvalue(), len(found))


def _files(folder: Path, root: Path, ignored: Collection[str]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        below = path.relative_to(root).as_posix()
        if any(fnmatch(path.name, pattern) or fnmatch(below, pattern) for pattern in ignored):
            continue
        if path.is_dir():
            yield from _files(path, root, ignored)
        elif path.is_file():
            yield path


def _lines(file: Path) -> list[str]:
    if not file.is_file():
        return []
    lines = (line.strip().rstrip("/") for line in file.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]
