"""Install KubeRay's CRDs for tests: all kinds in the version v1, and only RayCluster with KubeRay's own schema.

Tests create no objects of the other kinds and use no other versions, whose schemas repeat pod templates ten times. An
API server needs 14 s of CPU time before it serves all schemas, and 3 s before it serves these.
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
    """Apply the CRDs, and block until they are served."""
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
