"""The CRDs of an old and a new Kueue in a real API server; what Kueue itself does is played by the tests."""

from __future__ import annotations

from typing import Final

import yaml
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.module_files import ModuleFiles

GROUP: Final = "kueue.x-k8s.io"
_KINDS: Final = ("workloads", "resourceflavors", "workloadpriorityclasses")


def install(plane: ControlPlane, kueue: ModuleFiles, *, unserved: str = "") -> None:
    """Install or upgrade; ``unserved``: a version that is not served any more. Objects are not converted."""
    plane.apply_crds(*(yaml.safe_dump(_crd(kueue, kind, unserved)) for kind in _KINDS))


def remove(plane: ControlPlane) -> None:
    for kind in _KINDS:
        plane.delete(f"crd/{kind}.{GROUP}")


def _crd(kueue: ModuleFiles, kind: str, unserved: str) -> Object:
    base = kueue.folder() / f"config/components/crd/bases/{GROUP}_{kind}.yaml"
    crd: Object = yaml.safe_load(base.read_text())
    for version in crd["spec"]["versions"]:
        if version["name"] == unserved:
            version["served"] = False
    return crd
