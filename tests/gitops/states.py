"""Fleets as they were in real runs, one for each state, with what Argo CD and kstatus make of them.

``tests/data/fleets/<state>.json`` holds them; ``make test-gitops PYTEST=--record`` writes them anew.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object
from tests.gitops.argocd import command as argocd

FOLDER = ROOT / "tests/data/fleets"
# What else than the same: a suspended fleet has no Ready, so that kstatus waits for nothing.
KSTATUS = {"Healthy": "Current", "Degraded": "Failed", "Progressing": "InProgress", "Suspended": "Current"}


@dataclass(frozen=True)
class States:
    """Holds what a test sees against both tools, and keeps it if it was told to."""

    folder: Path
    record: bool

    def saw(self, state: str, fleet: Object, health: str) -> None:
        """A fleet is in that state, and Argo CD should show this health; both tools' own commands are asked."""
        __tracebackhide__ = True
        fleet["metadata"].pop("managedFields", None)
        assert (argocd.verdicts([fleet], self.folder), kstatus([fleet])) == ([health], [KSTATUS[health]]), state
        if self.record:
            FOLDER.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"argocd": health, "kstatus": KSTATUS[health], "fleet": fleet}, indent=1, sort_keys=True)
            (FOLDER / f"{state.replace(',', '').replace(' ', '-')}.json").write_text(f"{text}\n")


def kstatus(objects: Sequence[Object]) -> list[str]:
    """The verdict of Flux and Helm 4 on each object."""
    command = [str(binaries.build(binaries.KSTATUS) / "kstatus")]
    done = subprocess.run(command, input=json.dumps(list(objects)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [verdict["status"] for verdict in json.loads(done.stdout)]
