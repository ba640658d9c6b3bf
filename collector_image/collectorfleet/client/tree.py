"""A folder of Python code, packed as the archive that ``spec.code.archive`` names."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from collectorfleet import option_types
from collectorfleet.client.listing import IGNORE_FILE
from collectorfleet.client.refusals import FolderRefused, TooLarge, shown
from collectorfleet.client.selection import select
from collectorfleet.errors import InvalidOption
from collectorfleet_api import names
from collectorfleet_api.counts import counted

# The largest archive. The size of an object in etcd is limited, and the ConfigMap has other fields, too.
MOST_BYTES: Final = 700 * 1024
# The largest sum of the file sizes before packing. Packing shrinks code to a quarter, so larger code would not fit.
# This check also avoids the compression of a large data folder.
MOST_SOURCE_BYTES: Final = 16 * 2**20
KEY: Final = "code.tar.gz"
_DIGITS: Final = 10
_LARGEST: Final = 5


@dataclass(frozen=True)
class PackedFile:
    """A file in the archive. ``name`` is its path in the archive."""

    name: str
    size_bytes: int

    @property
    def shown(self) -> str:
        """Return the printable name."""
        return shown(self.name)


@dataclass(frozen=True)
class Tree:
    """A packed folder. Packing the same files gives the same bytes on every machine at any time."""

    archive: bytes
    files: tuple[PackedFile, ...]
    left_out: tuple[str, ...] = ()
    """Files that are not packed because of their type. ``include`` packs them."""

    @property
    def sha256(self) -> str:
        """Return the archive's SHA-256 in hexadecimal digits."""
        return hashlib.sha256(self.archive).hexdigest()

    def config_map(self, fleet: str, owner_uid: str | None = None) -> dict[str, Any]:
        """Return the ConfigMap with the archive. Its name has the fleet's name and a digest of the archive.

        With ``owner_uid``, Kubernetes deletes the ConfigMap with the fleet of that uid.
        """
        owner = {"apiVersion": names.API_VERSION, "kind": names.KIND, "name": fleet, "uid": owner_uid}
        owners = {"ownerReferences": [owner]} if owner_uid else {}
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self.config_map_name(fleet), "labels": {names.FLEET_LABEL: fleet}, **owners},
            "immutable": True,
            "binaryData": {KEY: base64.b64encode(self.archive).decode()},
        }

    def config_map_name(self, fleet: str) -> str:
        """Return the name of the ConfigMap: ``FLEET-code-DIGEST``, with 10 digits of the archive's SHA-256."""
        return f"{fleet}-code-{self.sha256[:_DIGITS]}"

    def code(self, fleet: str, path: str | None = None) -> dict[str, Any]:
        """Return the ``spec.code`` of a fleet with this code. ``path`` is added to the import path."""
        found: dict[str, Any] = {
            "archive": {"configMap": self.config_map_name(fleet), "key": KEY, "sha256": self.sha256}
        }
        return {**found, "path": path} if path else found

    def put_into(self, fleet: Mapping[str, Any], path: str | None = None) -> dict[str, Any]:
        """Return the manifest with this tree as its code.

        Raises InvalidOption if the manifest has no ``spec``, or if ``spec.code`` is already set.
        """
        spec = fleet.get("spec")
        if not isinstance(spec, Mapping):
            raise InvalidOption("spec: the manifest has no spec; write the fields of a CollectorFleet below spec")
        if spec.get("code"):
            raise InvalidOption("spec.code: `submit` packs the code itself; remove code from the manifest")
        return {**fleet, "spec": {**spec, "code": self.code(fleet["metadata"]["name"], path)}}


@option_types.checked("pack.")
def pack(folder: Path, *, include: Sequence[str] = (), without: Collection[Path] = ()) -> Tree:
    """Pack the code below ``folder``.

    If the folder is in a git repository, the archive has the files that git lists. Otherwise the archive has Python
    files and text files with configuration. The archive leaves out hidden files, compiled Python files, virtual
    environments, and files that match a line of ``.collectorfleetignore``. This file has the syntax of a
    ``.gitignore``. For a link, the archive has the file or the folder that the link leads to.

    Args:
        folder: the root of the archive. Modules in this folder can be imported.
        include: lines in the syntax of a ``.gitignore``. Matching files are packed even if the archive would leave them
            out. To pack a hidden file, or a file whose name looks like a key or secret (``*.pem``), give its name
            without wildcards.
        without: files that are not packed, such as the manifest.

    Raises:
        InvalidOption: an argument has a wrong type.
        FolderRefused: a file's name looks like a key or secret, a file cannot be read, or a link cannot be followed.
            Also raised if a line of ``include`` matches nothing.
        TooLarge: the files do not fit into a ConfigMap. If the files have more than 16 MiB in total, they are not read.
    """
    chosen = select(folder, include=include, without=without)
    try:
        files = tuple(PackedFile(name, path.stat().st_size) for name, path in chosen.files.items())
        size_bytes = sum(file.size_bytes for file in files)
        if size_bytes > MOST_SOURCE_BYTES:
            raise _too_large(folder, files, f"but at most {MOST_SOURCE_BYTES:,} bytes are packed")
        archive = _archive(chosen.files)
    except OSError as error:
        raise FolderRefused(f"{error.filename}: {error.strerror}") from error
    if archive is None:
        raise _too_large(folder, files, f"but a ConfigMap has room for {MOST_BYTES:,} bytes after compression")
    return Tree(archive, files, chosen.left_out)


def _archive(files: Mapping[str, Path]) -> bytes | None:
    """Return the packed archive. If it exceeds the limit, return None without reading the remaining files."""
    packed = io.BytesIO()
    # Times, owners and machine names would change the archive's bytes, so they are left out.
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tree,
    ):
        for name, path in files.items():
            content = path.read_bytes()
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            tree.addfile(member, io.BytesIO(content))
            if packed.tell() > MOST_BYTES:
                return None
    return packed.getvalue() if packed.tell() <= MOST_BYTES else None


def _too_large(folder: Path, files: Sequence[PackedFile], limit: str) -> TooLarge:
    total = sum(file.size_bytes for file in files)
    by_size = sorted(files, key=lambda file: (-file.size_bytes, file.name))
    largest = ", ".join(f"{file.shown} ({file.size_bytes:,})" for file in by_size[:_LARGEST])
    return TooLarge(
        f"{folder}: {counted(len(files), 'file has', 'files have')} {total:,} bytes, {limit}; the largest are "
        f"{largest}; name files in {IGNORE_FILE} that the run does not need, or use spec.code.git, "
        "spec.code.artifact or an image"
    )
