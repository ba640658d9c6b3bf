"""The command blocks of the documentation, run one after another on a real cluster as they stand."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import binaries, module_files
from tests.cluster import cluster as clusters
from tests.cluster.binaries import ROOT
from tests.delivery.pages.blocks import blocks
from tests.delivery.pages.walks import WALKS, Step

# What a command that watches is given before it is taken for one that works.
WATCH_SECONDS = 5


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of somebody with a fresh cluster that has KubeRay, and helm and kubectl at hand."""
    if reason := clusters.missing() or binaries.missing([binaries.HELM4]) or module_files.PROMETHEUS_OPERATOR.missing():
        pytest.skip(f"left out the commands of the documentation: {reason}")
    with clusters.with_kuberay(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.apply_crds(module_files.PROMETHEUS_OPERATOR.folder() / "example/prometheus-operator-crd")
        tools = tmp_path_factory.mktemp("bin")
        (tools / "helm").symlink_to(binaries.build(binaries.HELM4) / "helm4")
        (tools / "kubectl").symlink_to(binaries.kubectl())
        home = tmp_path_factory.mktemp("home")
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        yield {"KUBECONFIG": str(cluster.kubeconfig), "HOME": str(home), "PATH": path}


@pytest.mark.parametrize("walk", WALKS)
def test_commands_do_what_the_page_says(walk: str, reader: dict[str, str], tmp_path: Path) -> None:
    for name in ("charts", "crds", "examples", "operator"):
        (tmp_path / name).symlink_to(ROOT / name)
    for step in WALKS[walk]:
        if step.before:
            run(step.before, reader, tmp_path)
        for command in commands(step):
            if command.endswith("--watch"):
                watch(command, reader, tmp_path)
            else:
                run(command, reader, tmp_path)


def commands(step: Step) -> Iterator[str]:
    (block,) = (one for one in blocks() if step.is_of(one))
    text = block.text
    # Longer names first: NAME is a part of NAMESPACE.
    for placeholder in sorted(step.replaced, key=len, reverse=True):
        text = text.replace(placeholder, step.replaced[placeholder])
    yield from re.sub(r"\\\n", " ", text).strip().splitlines()


def run(command: str, environment: dict[str, str], folder: Path) -> None:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=660,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def watch(command: str, environment: dict[str, str], folder: Path) -> None:
    """It shows something, and has not ended by itself."""
    words = ["timeout", str(WATCH_SECONDS), "bash", "-c", f"exec {command}"]
    done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 124, done.stderr
    assert done.stdout
