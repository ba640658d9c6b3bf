"""Write ``spec.code`` into a local folder, without a cluster, and put the folder first on the import path."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code.tls import trusting
from collectorfleet.run.code.tree import write_tree
from collectorfleet_api.manifests.files import Manifests, load_file
from collectorfleet_api.rules.config_map_keys import key_problem
from collectorfleet_api.v1alpha1 import CertificateAuthority, Code

SUFFIXES: Final = (".yaml", ".yml", ".json")
LARGEST_BYTES: Final = 3 * 2**20  # larger than any object in etcd; larger files are skipped


def import_path(code: Code | None, manifests: Manifests, source: Path, mounted: Path) -> list[Path]:
    """Write the code into ``mounted``, and return the import path.

    The import path has the code, then the folder of ``source``, then the current folder. The last two folders replace
    the user's code in the image. ``source`` is the file of the ``manifests``. Raises InvalidOption if the code does not
    exist, and InfrastructureError if a retry may help.
    """
    beside = [source.absolute().parent, Path.cwd()]
    if code is None:
        return beside
    mounted.mkdir(parents=True)
    if code.config_map is not None:
        write_files(find_config_map(code.config_map, manifests, source), mounted)
    else:
        write_tree(code, None, mounted, _trusted(code.certificate_authority, manifests, source))
    return [mounted / code.path if code.path else mounted, *beside]


def find_config_map(name: str, manifests: Manifests, source: Path) -> dict[str, str]:
    """Return the data of the ConfigMap in the fleet's file, or in another file of its folder.

    Raises InvalidOption if the ConfigMap does not exist, or is in several other files.
    """
    found = _look_up(name, manifests, source, "spec.code.configMap")
    if found is None:
        raise InvalidOption(
            f'spec.code.configMap: ConfigMap "{name}" is not in {source} or a file beside it; '
            "add the ConfigMap to the file after a line `---`"
        )
    return found


def _trusted(authority: CertificateAuthority | None, manifests: Manifests, source: Path) -> ssl.SSLContext | None:
    """Return a TLS context with the spec's certificate authority, or None if the manifests do not contain it."""
    if authority is None or authority.config_map is None:
        return None
    # A missing ConfigMap is no error: the ConfigMap is often created in the cluster, and this machine may already trust
    # the authority.
    texts = _look_up(authority.config_map, manifests, source, "spec.code.certificateAuthority.configMap")
    if texts is None:
        return None
    text = texts.get(authority.key)
    return trusting(authority, None if text is None else text.encode())


def _look_up(name: str, manifests: Manifests, source: Path, field: str) -> dict[str, str] | None:
    found = manifests.config_map(name)
    if found is not None:
        return found
    beside = {
        path: texts
        for path in sorted(source.absolute().parent.iterdir())
        if path.suffix in SUFFIXES and path.is_file() and path.name != source.name
        if path.stat().st_size <= LARGEST_BYTES
        if (texts := load_file(path).config_map(name)) is not None
    }
    if len(beside) > 1:
        where = " and ".join(path.name for path in beside)
        raise InvalidOption(f'{field}: ConfigMap "{name}" is in {where}; keep one')
    return next(iter(beside.values()), None)


def write_files(texts: dict[str, str], folder: Path) -> None:
    """Write each key of a ConfigMap as a file, as a mount does. Raises InvalidOption if Kubernetes forbids a key."""
    for wrong in filter(None, map(key_problem, texts)):
        raise InvalidOption(f"spec.code.configMap: {wrong}")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
