"""Write the operator's manifest for kubectl from the operator's chart: ``python -m tests.delivery.plain_manifest``.

The chart is the only source of the Deployment and its rights. This module is part of the tests and not of the package,
because it runs the Helm that the tests build.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.cluster import binaries
from tests.delivery.helm import CHARTS, Helm

MANIFEST: Final = binaries.ROOT / "operator/manifests/operator.yaml"
NAME: Final = "collectorfleet-operator"
NAMESPACE: Final = "collectorfleet-system"

_HEAD: Final = f"""\
# The operator. First apply the CRD: kubectl apply --server-side -f crds/collectorfleets.yaml. Then apply this folder.
# `make generate` writes this file from charts/{NAME}. Change the chart, and not this file.
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    app.kubernetes.io/name: {NAME}
    pod-security.kubernetes.io/enforce: restricted
"""
# The lines to remove: Helm's comments and labels, which are false if kubectl applies the manifest, and empty lines.
_OF_HELM: Final = re.compile(r"^(# Source: .*| +(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*|)\n", re.MULTILINE)


def manifest(helm: Helm) -> str:
    """Return the text of ``operator/manifests/operator.yaml``."""
    rendered = helm("template", NAME, CHARTS / NAME, "--namespace", NAMESPACE, "--set", "crds.enabled=false")
    return _HEAD + _OF_HELM.sub("", rendered)


def main() -> None:
    if reason := binaries.missing([binaries.HELM]):
        sys.exit(f"{MANIFEST.name} is not written: {reason}")
    with tempfile.TemporaryDirectory() as home:
        MANIFEST.write_text(manifest(Helm(binaries.build(binaries.HELM) / "helm", Path(home))))


if __name__ == "__main__":
    main()
