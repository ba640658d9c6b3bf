"""The operator's program where it cannot begin."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT

from collectorfleet_operator.__main__ import NEEDS, main
from collectorfleet_operator.edge.settings import Settings


def test_the_modules_are_those_of_the_packages_in_the_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(NEEDS.modules) == {re.split(r"[^\w-]", package)[0].replace("-", "_") for package in extras["operator"]}
    assert NEEDS.missing() == []


def started(folder: Path, kubeconfig: str, port: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the operator outside of a pod until it ends by itself."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "KUBECONFIG": str(folder / "kubeconfig"),
        "PYTHONPATH": f"{ROOT}/crds:{ROOT}/operator:{ROOT}/collector_image",
    }
    (folder / "kubeconfig").write_text(kubeconfig)
    words = [sys.executable, "-m", "collectorfleet_operator", f"--health-port={port}"]
    return subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_without_a_cluster_it_says_what_to_set(tmp_path: Path) -> None:
    done = started(tmp_path, "a text")
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert ": cannot connect to a cluster: " in last
    assert last.endswith("; set KUBECONFIG to a valid kubeconfig, or run the operator in a pod with a service account")
    assert done.returncode == 64


KUBECONFIG = """
current-context: it
clusters: [{name: it, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: it, user: {}}]
contexts: [{name: it, context: {cluster: it, user: it}}]
"""


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        done = started(tmp_path, KUBECONFIG, port)
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert f"cannot listen on port {port}: " in last
    assert last.endswith("; set --health-port to a free port")
    assert done.returncode == 1


def test_an_error_of_a_connection_is_not_taken_for_a_port_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected error ends with a traceback, which a report of the error needs."""

    async def fail(settings: Settings) -> None:
        raise ConnectionResetError(f"with port {settings.health_port}")

    monkeypatch.setattr("collectorfleet_operator.edge.app.run", fail)
    monkeypatch.setattr("collectorfleet_operator.edge.logs.log_to", lambda *_, **__: None)
    monkeypatch.setattr("collectorfleet_operator.edge.garbage.GarbageFreezer.begin", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["collectorfleet_operator"])
    with pytest.raises(ConnectionResetError):
        main()
