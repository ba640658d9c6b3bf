"""The project's own tests with other versions of Kubernetes, KubeRay, Ray and Kueue than the pinned ones.

Each combination is a run of pytest of its own: a Kubernetes, KubeRay or Kueue by the folder of ``tools/`` that pins it,
a Ray by a folder before the installed packages. Kubelets are never newer than their API server, so another Kubernetes
is a control plane, and pods are played; another KubeRay, Ray and Kueue run on real nodes.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cluster import binaries
from tests.cluster.binaries import ROOT

pytestmark = pytest.mark.timeout(3600)

CONTROL_PLANE = ("tests/integration",)
DATA_PLANE = ("tests/contract", "tests/runtime")
# Older Rays forget processes that they have ended.
LEFT_BEHIND = "ignore:subprocess:ResourceWarning"
NODES = ("tests/e2e/test_fleet.py", "tests/e2e/test_outages.py")
QUEUES = ("tests/queues",)


@dataclass(frozen=True)
class Combination:
    """What takes the place of what is pinned: folders of ``tools/``, and a version of Ray."""

    tests: tuple[str, ...]
    kubernetes: str = "kubernetes"
    kuberay: str = "kuberay"
    ray: str = ""
    kueue: str = ""  # no tests run a Kueue without one

    def __str__(self) -> str:
        return " ".join((self.kubernetes, self.kuberay, self.ray, self.kueue, *self.tests)).replace("tests/", "")

    def row(self) -> tuple[str, str, str, str]:
        kubernetes = binaries.pinned(self.kubernetes, "k8s.io/kubernetes")
        kuberay = binaries.pinned(self.kuberay, "github.com/ray-project/kuberay/ray-operator")
        kueue = binaries.pinned(self.kueue, "sigs.k8s.io/kueue") if self.kueue else "-"
        ray = self.ray or importlib.metadata.version("ray")
        return kubernetes.removeprefix("v"), kuberay.removeprefix("v"), ray, kueue.removeprefix("v")


COMBINATIONS = (
    Combination(CONTROL_PLANE, kubernetes="kubernetes-1.30"),
    Combination(CONTROL_PLANE, kubernetes="kubernetes-1.37"),
    Combination(CONTROL_PLANE, kuberay="kuberay-1.5"),
    Combination(NODES, kuberay="kuberay-1.5"),
    Combination(DATA_PLANE, ray="2.52.1"),
    Combination(NODES, ray="2.52.1"),
    Combination(QUEUES, kueue="kueue-0.14"),
    Combination(QUEUES, kueue="kueue"),
)


@pytest.fixture(scope="session")
def rays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where other versions of Ray are installed, each in a folder of its own."""
    return tmp_path_factory.mktemp("rays")


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_the_tests_pass_with_other_versions(
    combination: Combination, rays: Path, passed: list[tuple[str, ...]], tmp_path: Path
) -> None:
    tools = [binaries.kubernetes(combination.kubernetes), binaries.Tool(combination.kuberay)]
    if combination.kueue:
        tools.append(binaries.Tool(combination.kueue))
    if reason := binaries.missing(tools):
        pytest.skip(f"left out {combination}: {reason}")
    for tool in tools:
        binaries.build(tool)  # minutes, which no test of theirs has
    result = tmp_path / "result.xml"
    env = {
        **os.environ,
        binaries.OTHER_KUBERNETES: combination.kubernetes,
        binaries.OTHER_KUBERAY: combination.kuberay,
        **({binaries.OTHER_KUEUE: combination.kueue} if combination.kueue else {}),
        # Older ones warn, and a warning fails a test, until they are told to do as newer ones do.
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "PYTHONPATH": str(installed(combination.ray, rays)) if combination.ray else "",
    }
    words = [sys.executable, "-m", "pytest", *combination.tests, f"--junitxml={result}", "-q"]
    if combination.ray:
        words += ["-W", LEFT_BEHIND]
    done = subprocess.run(words, cwd=ROOT, env=env, check=False)
    counts = next(ET.parse(result).getroot().iter("testsuite")).attrib
    skipped = int(counts["skipped"])
    assert done.returncode == 0, counts
    count = str(int(counts["tests"]) - skipped)
    passed.append((*combination.row(), ", ".join(combination.tests), count, str(skipped)))


def installed(version: str, rays: Path) -> Path:
    """A folder with that Ray and nothing else: what it needs is what the pinned one needs."""
    folder = rays / version
    if not folder.exists():
        words = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", f"--target={folder}"]
        subprocess.run([*words, f"ray=={version}"], check=True)
    return folder
