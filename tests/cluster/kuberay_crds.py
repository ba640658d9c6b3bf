"""KubeRay's CRDs as the tests install them: all kinds are there, and what RayCluster is, is KubeRay's own schema.

The schemas of the others, which nothing here makes, and of versions that nothing here asks for, hold the templates of
pods ten times over: an API server computes for 14 s before it serves them all, and for 3 s to serve these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.cluster import module_files
from tests.cluster.client import Client

_VERSION = "v1"
_VERSIONS = "\n  versions:\n"
_ANYTHING = f"""\
  - name: {_VERSION}
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
    subresources:
      status: {{}}
"""


def install(client: Client) -> None:
    """Apply them and block until they are served."""
    client.apply_crds(*_texts())


def _texts() -> Iterator[str]:
    for file in sorted((module_files.KUBERAY.folder() / "config/crd/bases").glob("*.yaml")):
        head, found, versions = file.read_text().partition(_VERSIONS)
        assert found, f"{file} has no versions"
        yield head + _VERSIONS + (_served(versions) if file.stem == "ray.io_rayclusters" else _ANYTHING)


def _served(versions: str) -> str:
    each = re.split(r"^(?=  - )", versions, flags=re.MULTILINE)
    [served] = [one for one in each if f"\n    name: {_VERSION}\n" in one]
    return served
