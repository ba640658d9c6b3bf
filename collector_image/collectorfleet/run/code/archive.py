"""Fetch ``spec.code.archive``: a file in a ConfigMap or at a URL, with a given SHA-256."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.digest import sha256
from collectorfleet.run.code.unpack import unpack
from collectorfleet.run.code.web import Web
from collectorfleet_api.v1alpha1 import Archive


def write_tree(archive: Archive, mounted: Path | None, folder: Path, tls: ssl.SSLContext | None = None) -> str:
    """Write the tree into ``folder``, and return the archive's digest, ``sha256:...``.

    ``mounted`` is the path of a ConfigMap's archive. ``tls`` is the TLS context. By default, it trusts the system's
    certificate authorities. Raises InvalidOption if the manifest is wrong or access is denied, and InfrastructureError
    if a retry may help.
    """
    bounds = Bounds(_where(archive))
    with _file(archive, mounted, folder, bounds, tls) as file:
        found = sha256(file)
        if found != archive.sha256:
            raise InvalidOption(
                f"spec.code.archive.sha256: expected {archive.sha256}, but {bounds.where} has {found}; "
                "correct the digest, or use another archive"
            )
        unpack(file, folder, bounds)
    return f"sha256:{found}"


@contextmanager
def _file(
    archive: Archive, mounted: Path | None, folder: Path, bounds: Bounds, tls: ssl.SSLContext | None
) -> Iterator[IO[bytes]]:
    if archive.url is not None:
        # In a pod, only `folder` is writable.
        with tempfile.TemporaryFile(dir=folder) as file:
            Web(bounds.where, tls=tls).download(archive.url, file, bounds)
            yield file
        return
    if mounted is None:
        raise InvalidOption(
            "spec.code.archive.configMap: this ConfigMap can be read only on a cluster; set archive.url, or remove "
            "spec.code and run the manifest in the folder with the code"
        )
    if not mounted.is_file():
        raise InvalidOption(
            f"spec.code.archive: ConfigMap {archive.config_map} has no {archive.key} in its binaryData; correct "
            "archive.key"
        )
    with mounted.open("rb") as file:
        yield file


def _where(archive: Archive) -> str:
    if archive.url is not None:
        return f"spec.code.archive.url {archive.url}"
    return f"spec.code.archive.configMap {archive.config_map}, key {archive.key}"
