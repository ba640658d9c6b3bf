"""A file that is a tar or a zip, unpacked below a folder and nowhere else."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code.bounds import Bounds


def unpack(
    file: IO[bytes], folder: Path, bounds: Bounds, *, before: Callable[[Sequence[str]], None] | None = None
) -> None:
    """Unpack a tar, compressed or not, or a zip.

    ``before`` is told the names in a tar that is within the bounds, before anything of it is written. Raises
    InvalidOption where it is neither, or beyond the bounds.
    """
    file.seek(0)
    try:
        if zipfile.is_zipfile(file):
            _unzip(file, folder, bounds)
        else:
            file.seek(0)
            _untar(file, folder, bounds, before)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise InvalidOption(f"{bounds.where}: what is there cannot be unpacked: {error}") from error


def _untar(file: IO[bytes], folder: Path, bounds: Bounds, before: Callable[[Sequence[str]], None] | None) -> None:
    with tarfile.open(fileobj=file, mode="r:*") as tree:
        for member in tree:
            bounds.unpack(member.size)
        if before is not None:
            before(tree.getnames())
        # Nothing outside of the folder, no devices, no special modes.
        tree.extractall(folder, filter="data")


def _unzip(file: IO[bytes], folder: Path, bounds: Bounds) -> None:
    with zipfile.ZipFile(file) as tree:
        bounds.unpack(sum(one.file_size for one in tree.infolist()), len(tree.infolist()))
        # It drops what would lead out of the folder.
        tree.extractall(folder)  # noqa: S202  (bounded above)


def remove(path: Path) -> None:
    """Take away a file, or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def clear(folder: Path) -> None:
    """Take away what an earlier try left in ``folder``, which stays: it may be a mount."""
    for path in folder.iterdir():
        remove(path)
