"""Fetch ``spec.code.artifact``: the layers of an OCI artifact or image whose manifest has a given digest.

Flux, ORAS and image builders push trees as tars. The format of a layer is detected from its content, not from its media
type.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, Final

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code.bounds import Bounds
from collectorfleet.run.code.digest import sha256
from collectorfleet.run.code.members import BadMember, MemberFolder
from collectorfleet.run.code.registry import Reference, Registry
from collectorfleet.run.code.registry_login import login
from collectorfleet.run.code.unpack import clear, remove, unpack
from collectorfleet.stored_json import parse_json
from collectorfleet_api.v1alpha1 import Artifact

_MOST_MANIFEST_BYTES: Final = 4 * 2**20  # limit of registries
# In a layer of an image, a file whose name begins with `.wh.` removes files of lower layers.
_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"


def write_tree(artifact: Artifact, credentials: Path | None, folder: Path, tls: ssl.SSLContext | None = None) -> str:
    """Write the tree into ``folder``, and return the manifest's digest, ``sha256:...``.

    ``credentials`` is a folder with the file ``.dockerconfigjson``. ``tls`` is the TLS context. By default, it trusts
    the system's certificate authorities. Raises InvalidOption if the fleet's manifest is wrong or access is denied, and
    InfrastructureError if a retry may help.
    """
    bounds = Bounds(f"spec.code.artifact {artifact.reference}")
    reference = Reference.of(artifact.reference)
    secret = artifact.credentials_secret
    user = login(credentials, secret.name, reference) if credentials is not None and secret is not None else None
    registry = Registry(reference, bounds.where, user, secret.name if secret else None, tls)
    # In a pod, only `folder` is writable.
    with tempfile.TemporaryFile(dir=folder) as file:
        registry.manifest(file, Bounds(bounds.where))
        layers = _layers(_checked(file, reference.digest, bounds), bounds)
    for layer in layers:
        with tempfile.TemporaryFile(dir=folder) as file:
            registry.blob(layer["digest"], file, bounds)
            _check(file, layer["digest"], bounds)
            unpack(file, folder, bounds, before=_apply_whiteouts)
    return reference.digest


def _checked(file: IO[bytes], digest: str, bounds: Bounds) -> dict[str, Any]:
    _check(file, digest, bounds)
    file.seek(0)
    try:
        manifest = parse_json(file.read(_MOST_MANIFEST_BYTES))
    except ValueError as error:
        raise InvalidOption(f"{bounds.where}: the server sent no manifest of an artifact: {error}") from error
    if not isinstance(manifest, dict):
        raise InvalidOption(f"{bounds.where}: the server sent no manifest of an artifact, but other JSON")
    return manifest


def _check(file: IO[bytes], digest: str, bounds: Bounds) -> None:
    found = f"sha256:{sha256(file)}"
    if found != digest:
        raise InvalidOption(f"{bounds.where}: the registry sent {found} instead of {digest}")


def _layers(manifest: dict[str, Any], bounds: Bounds) -> list[dict[str, Any]]:
    if "manifests" in manifest:
        inner = ", ".join(_platform(one) for one in manifest["manifests"])
        raise InvalidOption(
            f"{bounds.where}: the digest is of an index of several artifacts; use the digest of one of them: {inner}"
        )
    layers: list[dict[str, Any]] = manifest.get("layers") or []
    if not layers:
        raise InvalidOption(f"{bounds.where}: the artifact has no layer; push a folder, such as with `oras push`")
    return layers


def _platform(inner: dict[str, Any]) -> str:
    platform = inner.get("platform") or {}
    words = [platform[key] for key in ("os", "architecture") if platform.get(key)]
    return f"{inner['digest']} ({'/'.join(words)})" if words else str(inner["digest"])


def _apply_whiteouts(names: Iterable[str], folder: MemberFolder) -> frozenset[str]:
    """Remove files of lower layers if a whiteout of this layer names them. Return the names of the whiteouts."""
    marks = frozenset(name for name in names if name.rstrip("/").rpartition("/")[2].startswith(_WHITEOUT))
    for name in marks:
        above, _, mark = name.rstrip("/").rpartition("/")
        if mark == _OPAQUE:
            below = folder.place_of(above)
            if below is not None and below.is_dir() and not below.is_symlink():
                clear(below)
            continue
        gone = mark.removeprefix(_WHITEOUT)
        if gone in ("", ".", ".."):
            raise BadMember(f"{name!r} marks a deleted file (whiteout), but does not name the file")
        place = folder.place_of(f"{above}/{gone}")
        if place is not None:
            remove(place)
    return marks
