"""Write the code tree of ``spec.code`` into a folder, from any source."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code import archive, artifact, git
from collectorfleet.run.code.tls import trusting
from collectorfleet_api.v1alpha1 import Archive, Artifact, Code, Git


@dataclass(frozen=True)
class Mounts:
    """The folders in which a pod mounts ConfigMaps and Secrets for the code."""

    archives: Path
    credentials: Path
    authorities: Path


def write_tree(code: Code, mounts: Mounts | None, folder: Path, tls: ssl.SSLContext | None = None) -> str:
    """Write the tree of ``code`` into ``folder``, and return its digest.

    ``mounts`` is None without a cluster. ``tls`` is the TLS context. By default, it trusts the system's certificate
    authorities. Raises InvalidOption if the manifest is wrong or access is denied, and InfrastructureError if a retry
    may help.
    """
    secret = code.credentials_secret
    if secret is not None and mounts is None:
        raise InvalidOption(
            f"spec.code: Secret {secret} can be read only on a cluster; remove spec.code and run the manifest in the "
            "folder with the code"
        )
    credentials = mounts.credentials if mounts is not None and secret is not None else None
    if mounts is not None and code.certificate_authority is not None:
        path = mounts.authorities / code.certificate_authority.key
        tls = trusting(code.certificate_authority, path.read_bytes() if path.is_file() else None)
    match code.tree:
        case Archive() as source:
            return archive.write_tree(source, mounts.archives / source.key if mounts is not None else None, folder, tls)
        case Git() as source:
            return git.write_tree(source, credentials, folder, tls)
        case Artifact() as source:
            return artifact.write_tree(source, credentials, folder, tls)
        case None:
            raise InvalidOption("spec.code: the spec names no source of files; set archive, git or artifact")
