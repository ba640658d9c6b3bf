"""A tree of code from wherever ``spec.code`` has it."""

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
    """Where a pod has what the cluster keeps for the code: the keys of ConfigMaps and Secrets as files."""

    archives: Path
    credentials: Path
    authorities: Path


def put(code: Code, mounts: Mounts | None, folder: Path, tls: ssl.SSLContext | None = None) -> str:
    """Put the tree of ``code`` into ``folder``, and return its digest.

    Without a cluster there are no ``mounts``, and ``tls`` says what to trust servers by. Default: the certificate
    authorities of the system. Raises InvalidOption where it is not what the manifest says, InfrastructureError where it
    cannot be got now.
    """
    secret = code.credentials_secret
    if secret is not None and mounts is None:
        raise InvalidOption(
            f"spec.code: there is no cluster to read Secret {secret} from; leave code out and run the manifest in the "
            "folder that has the tree"
        )
    credentials = mounts.credentials if mounts is not None and secret is not None else None
    if mounts is not None and code.certificate_authority is not None:
        path = mounts.authorities / code.certificate_authority.key
        tls = trusting(code.certificate_authority, path.read_bytes() if path.is_file() else None)
    match code.tree:
        case Archive() as source:
            return archive.put(source, mounts.archives / source.key if mounts is not None else None, folder, tls)
        case Git() as source:
            return git.put(source, credentials, folder, tls)
        case Artifact() as source:
            return artifact.put(source, credentials, folder, tls)
        case None:
            raise InvalidOption("spec.code: no tree is named; set archive, git or artifact")
