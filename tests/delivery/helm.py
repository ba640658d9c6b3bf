"""Helm 3 and Helm 4, with a home of their own: nothing of the user's own Helm is read or written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tests.cluster import binaries

CHARTS = binaries.ROOT / "charts"


class HelmError(RuntimeError):
    """What helm said when it ended with another status than 0."""


@dataclass(frozen=True)
class Helm:
    """One of both. ``home`` keeps its caches and settings; ``kubeconfig`` is the cluster that it talks to, if any."""

    binary: Path
    home: Path
    kubeconfig: Path | None = None

    def __call__(self, *words: str | Path, timeout: float = 120) -> str:
        """Run it; returns what it printed.

        Raises:
            HelmError: it failed; the message is what it said.
        """
        done = self.run(words, timeout)
        if done.returncode:
            raise HelmError(f"helm {' '.join(str(word) for word in words)}: {done.stderr.strip()}")
        return done.stdout

    def run(self, words: Sequence[str | Path], timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run it, and leave it to the caller what its status means."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("HELM_", "KUBE"))}
        for kind in ("CACHE", "CONFIG", "DATA"):
            env[f"HELM_{kind}_HOME"] = str(self.home / kind.lower())
        # Without a cluster it must not find one of the user's.
        env["KUBECONFIG"] = str(self.kubeconfig or self.home / "no-cluster")
        command = [str(self.binary), *(str(word) for word in words)]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=timeout)

    def template(self, chart: Path, *words: str | Path, name: str = "release") -> list[dict[str, Any]]:
        """The objects that a release of a chart would have."""
        return list(objects_of(self("template", name, chart, *words)))


def objects_of(text: str) -> Iterator[dict[str, Any]]:
    """The Kubernetes objects of YAML documents; empty documents are left out."""
    yield from (found for found in yaml.safe_load_all(text) if found)
