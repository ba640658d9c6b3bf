"""Pack container images of one layer into an OCI archive, without a registry and without a build tool."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
OCI = "application/vnd.oci.image"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Layer:
    """Files, folders and links of an image. Missing parent folders are added, with owner root and mode 755."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._buffer, mode="w")  # noqa: SIM115  (closed in pack())
        self._folders = {PurePosixPath("/")}

    def folder(self, path: str, mode: int = 0o755, owner: int = 0) -> None:
        if PurePosixPath(path) in self._folders:
            if (mode, owner) != (0o755, 0):
                raise ValueError(f"{path} is in the layer already; give its mode and owner before what lies in it")
            return
        self._parents(path)
        self._add(path, tarfile.DIRTYPE, mode, owner)
        self._folders.add(PurePosixPath(path))

    def link(self, path: str, target: str) -> None:
        self._parents(path)
        self._add(path, tarfile.SYMTYPE, 0o777, 0, target=target)

    def file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self._parents(path)
        self._add(path, tarfile.REGTYPE, mode, 0, data=data)

    def pack(self) -> bytes:
        """Return the layer as an uncompressed tar archive. No file can be added after this."""
        self._tar.close()
        return self._buffer.getvalue()

    def _parents(self, path: str) -> None:
        for parent in reversed(PurePosixPath(path).parents):
            if parent not in self._folders:
                self._add(str(parent), tarfile.DIRTYPE, 0o755, 0)
                self._folders.add(parent)

    def _add(self, path: str, kind: bytes, mode: int, owner: int, target: str = "", data: bytes = b"") -> None:
        info = tarfile.TarInfo(path.strip("/"))
        info.type, info.mode, info.uid, info.gid, info.linkname, info.size = kind, mode, owner, owner, target, len(data)
        self._tar.addfile(info, io.BytesIO(data))


@dataclass(frozen=True)
class Image:
    """An image with all ``names`` that manifests may use for it."""

    names: tuple[str, ...]
    layer: Layer
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def config(self) -> dict[str, Any]:
        env = {"PATH": SYSTEM_PATH, **self.env}
        return {
            "Entrypoint": list(self.entrypoint),
            "Cmd": list(self.command),
            "Env": [f"{name}={value}" for name, value in env.items()],
            "User": self.user,
            "Labels": dict(self.labels),
        }


def write_archive(images: Iterable[Image], archive: Path) -> None:
    """Write images as one OCI archive, for ``ctr images import``."""
    blobs: dict[str, bytes] = {}

    def blob(media: str, data: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": f"{OCI}.{media}", "digest": f"sha256:{digest}", "size": len(data)}

    manifests = []
    for image in images:
        layer = blob("layer.v1.tar", image.layer.pack())
        config = {
            "architecture": MACHINES[platform.machine()],
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
            "config": image.config(),
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": blob("config.v1+json", json.dumps(config).encode()),
            "layers": [layer],
        }
        found = blob("manifest.v1+json", json.dumps(manifest).encode())
        manifests += [found | {"annotations": {"io.containerd.image.name": name}} for name in image.names]
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": manifests}).encode()
    files |= {f"blobs/sha256/{digest}": data for digest, data in blobs.items()}
    with tarfile.open(archive, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
