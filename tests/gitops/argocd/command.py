"""Argo CD's own command on fleets, with the settings of an installation and without a cluster."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.client import Object
from tests.gitops.argocd.processes import settings


def verdicts(fleets: Sequence[Object], folder: Path) -> list[str]:
    """The health of each fleet."""
    (config,) = (one for one in settings() if one["metadata"]["name"] == "argocd-cm")
    (folder / "argocd-cm.json").write_text(json.dumps(config))
    return [_verdict(fleet, folder) for fleet in fleets]


def _verdict(fleet: Object, folder: Path) -> str:
    file = folder / "fleet.json"
    file.write_text(json.dumps(fleet))
    words = ("admin", "settings", "resource-overrides", "health", file, "--argocd-cm-path", folder / "argocd-cm.json")
    env = os.environ | {"KUBECONFIG": str(folder / "no-cluster"), "ARGOCD_BINARY_NAME": "argocd", "HOME": str(folder)}
    command = [str(binaries.build(binaries.ARGOCD) / "argocd"), *map(str, words)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    (status,) = (line.split(":", 1)[1].strip() for line in done.stdout.splitlines() if line.startswith("STATUS:"))
    return status
