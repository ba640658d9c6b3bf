"""``spec.code.archive``: got from where it is, checked, and unpacked. The same in a pod and in a local run."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet_api.v1alpha1 import Archive

# A tree of code; data has volumes.
MOST_BYTES: Final = 512 * 2**20
MOST_FILES: Final = 50_000
_URL_SECONDS: Final = 30  # without a byte
_CHUNK: Final = 2**20
_NOT_TO_BE_HAD: Final = range(400, 500)


def unpack(archive: Archive, mounted: Path | None, folder: Path) -> None:
    """Put the tree into ``folder``; ``mounted`` is the archive of a ConfigMap.

    Raises InvalidOption where it is not what the manifest says, InfrastructureError where it cannot be got now.
    """
    with _file(archive, mounted, folder) as file:
        _check(file, archive)
        _extract(file, folder, archive)


@contextmanager
def _file(archive: Archive, mounted: Path | None, folder: Path) -> Iterator[IO[bytes]]:
    if archive.url is not None:
        # In a pod nothing else can be written to.
        with tempfile.TemporaryFile(dir=folder) as file:
            _download(archive.url, file)
            yield file
        return
    if mounted is None or not mounted.is_file():
        raise InvalidOption(
            f"spec.code.archive: ConfigMap {archive.config_map} has no {archive.key} in its binaryData; name the key"
        )
    with mounted.open("rb") as file:
        yield file


def _download(url: str, file: IO[bytes]) -> None:
    try:
        with urllib.request.urlopen(url, timeout=_URL_SECONDS) as answer:  # noqa: S310  (the model takes http and https)
            for chunk in iter(lambda: answer.read(_CHUNK), b""):
                file.write(chunk)
                if file.tell() > MOST_BYTES:
                    raise InvalidOption(
                        f"spec.code.archive.url: more than {MOST_BYTES:,} bytes; put data on a volume, or all of it "
                        "into an image"
                    )
    except urllib.error.HTTPError as error:
        sentence = f"spec.code.archive.url {url}: {error.code} {error.reason}"
        if error.code in _NOT_TO_BE_HAD:
            raise InvalidOption(sentence) from error
        raise InfrastructureError(sentence) from error
    except OSError as error:
        raise InfrastructureError(f"spec.code.archive.url {url}: {error}") from error


def _check(file: IO[bytes], archive: Archive) -> None:
    file.seek(0)
    digest = hashlib.sha256()
    for chunk in iter(lambda: file.read(_CHUNK), b""):
        digest.update(chunk)
    found = digest.hexdigest()
    if found != archive.sha256:
        raise InvalidOption(
            f"spec.code.archive.sha256: {archive.sha256} is asked for, and what {_where(archive)} has is {found}"
        )


def _extract(file: IO[bytes], folder: Path, archive: Archive) -> None:
    file.seek(0)
    try:
        if zipfile.is_zipfile(file):
            _unzip(file, folder)
        else:
            file.seek(0)
            _untar(file, folder)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise InvalidOption(f"spec.code.archive: what {_where(archive)} has cannot be unpacked: {error}") from error


def _untar(file: IO[bytes], folder: Path) -> None:
    with tarfile.open(fileobj=file, mode="r:*") as tree:
        files = size = 0
        for member in tree:
            files, size = files + 1, size + member.size
            _bounded(files, size)
        # Nothing outside of the folder, no devices, no special modes.
        tree.extractall(folder, filter="data")


def _unzip(file: IO[bytes], folder: Path) -> None:
    with zipfile.ZipFile(file) as tree:
        _bounded(len(tree.infolist()), sum(one.file_size for one in tree.infolist()))
        # It drops what would lead out of the folder.
        tree.extractall(folder)  # noqa: S202  (bounded above)


def _bounded(files: int, size: int) -> None:
    if files > MOST_FILES or size > MOST_BYTES:
        raise InvalidOption(
            f"spec.code.archive: {files:,} files of {size:,} bytes unpacked are more than {MOST_FILES:,} or "
            f"{MOST_BYTES:,}; put data on a volume, or all of it into an image"
        )


def _where(archive: Archive) -> str:
    return archive.url or f"ConfigMap {archive.config_map}, key {archive.key},"


def clear(folder: Path) -> None:
    """Take away what an earlier try left in ``folder``, which stays: it may be a mount."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
