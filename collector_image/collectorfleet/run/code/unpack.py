"""A file that is a tar or a zip, unpacked below a folder and nowhere else."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path
from typing import IO

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code.bounds import Bounds


def unpack(file: IO[bytes], folder: Path, bounds: Bounds) -> None:
    """Unpack a tar, compressed or not, or a zip. Raises InvalidOption where it is neither, or beyond the bounds."""
    file.seek(0)
    try:
        if zipfile.is_zipfile(file):
            _unzip(file, folder, bounds)
        else:
            file.seek(0)
            _untar(file, folder, bounds)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise InvalidOption(f"{bounds.where}: what is there cannot be unpacked: {error}") from error


def _untar(file: IO[bytes], folder: Path, bounds: Bounds) -> None:
    with tarfile.open(fileobj=file, mode="r:*") as tree:
        for member in tree:
            bounds.unpack(member.size)
        # Nothing outside of the folder, no devices, no special modes.
        tree.extractall(folder, filter="data")


def _unzip(file: IO[bytes], folder: Path, bounds: Bounds) -> None:
    with zipfile.ZipFile(file) as tree:
        bounds.unpack(sum(one.file_size for one in tree.infolist()), len(tree.infolist()))
        # It drops what would lead out of the folder.
        tree.extractall(folder)  # noqa: S202  (bounded above)
