"""Fleets of several namespaces and labels, listed, watched and completed on a real API server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT
from tests.cluster.control_plane import ControlPlane
from tests.integration.operator_process import kubeconfig_of
from tests.integration.played import manifest

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main

pytestmark = pytest.mark.usefixtures("fleet_crd")

Said = pytest.CaptureFixture[str]
PROGRAM = "import sys; from collectorfleet.cli.main import main; sys.exit(main())"
COMPLETION = "import sys; from collectorfleet.cli.main import complete_kubectl_plugin as it; sys.exit(it())"


@pytest.fixture
def other(control_plane: ControlPlane) -> Iterator[str]:
    """A second namespace."""
    with control_plane.temporary_namespace("other") as name:
        yield name


@pytest.fixture
def env(control_plane: ControlPlane) -> dict[str, str]:
    packages = f"{ROOT}/crds:{ROOT}/collector_image:{ROOT}/operator"
    return {"PATH": os.environ["PATH"], "PYTHONPATH": packages, "KUBECONFIG": str(control_plane.kubeconfig)}


def labelled(name: str, **labels: str) -> dict[str, object]:
    return {**manifest(name), "metadata": {"name": name, "labels": labels}}


def rows(out: str) -> list[list[str]]:
    return [line.split()[:2] for line in out.splitlines()]


@pytest.mark.parametrize("words", [["status"], ["top", "--once"]], ids=" ".join)
def test_fleets_are_selected_by_label_and_in_all_namespaces(
    words: list[str], control_plane: ControlPlane, namespace: str, other: str, capsys: Said
) -> None:
    team = namespace  # of this test alone: other tests have fleets, too
    control_plane.apply([labelled("one", team=team), labelled("two", team="b")], namespace)
    control_plane.apply(labelled("three", team=team), other)
    there = ["--kubeconfig", str(control_plane.kubeconfig)]
    assert main([*words, *there, "-n", namespace, "-l", f"team!={team}"]) == ExitCode.DONE
    assert [name for name, _ in rows(capsys.readouterr().out)] == ["fleet", "two"]
    assert main([*words, *there, "-A", "-l", f"team={team}"]) == ExitCode.DONE
    header, *found = rows(capsys.readouterr().out)
    assert header == ["namespace", "fleet"]
    assert found == sorted([[namespace, "one"], [other, "three"]])
    assert main([*words, *there, "-n", other, "-l", "team in (b,c)"]) == ExitCode.DONE
    assert capsys.readouterr() == ("", f"No resources found in {other} namespace.\n")
    assert main([*words, *there, "-A", "-l", "team=("]) == ExitCode.FAILED
    assert "unable to parse requirement" in capsys.readouterr().err


def test_the_names_are_those_that_kubectl_takes(control_plane: ControlPlane, namespace: str, capsys: Said) -> None:
    control_plane.apply(labelled("one"), namespace)
    assert main(["status", "--kubeconfig", str(control_plane.kubeconfig), "-n", namespace, "-o", "name"]) == 0
    name = capsys.readouterr().out.strip()
    assert control_plane.kubectl("get", name, "-n", namespace, "-o", "name").strip() == name


def test_who_may_not_list_the_fleets_of_all_namespaces_is_told_so(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, capsys: Said
) -> None:
    """With the rights of the namespace's own account, which may nothing."""
    config = kubeconfig_of(control_plane, tmp_path, namespace, "default")
    assert main(["status", "-A", "--kubeconfig", str(config)]) == ExitCode.DENIED
    assert 'cannot list resource "collectorfleets" in API group "collectorfleet.dev" at the cluster scope' in (
        capsys.readouterr().err
    )


def test_a_watch_prints_each_change_until_ctrl_c(
    control_plane: ControlPlane, namespace: str, env: dict[str, str]
) -> None:
    control_plane.apply(labelled("one", team="a"), namespace)
    words = ["status", "--watch", "-n", namespace, "-l", "team=a", "-o", "json"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *words], env=env, **streams) as process:  # type: ignore[call-overload]
        assert next_name(process) == "one"
        control_plane.apply([labelled("two", team="a"), labelled("three", team="b")], namespace)
        assert next_name(process) == "two"
        # Another label: to a watch with a selector, the fleet is gone.
        control_plane.apply(labelled("one", team="b"), namespace)
        assert next_name(process) == "one"
        control_plane.kubectl("delete", "cfleet/two", "-n", namespace, "--wait=false")
        assert next_name(process) == "two"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "interrupted\n")
    assert process.returncode == ExitCode.INTERRUPTED


def next_name(process: subprocess.Popen[str]) -> str:
    """The name of the fleet in the next JSON document. The suite's timeout ends a wait in vain."""
    assert process.stdout
    lines: list[str] = []
    while not lines or lines[-1] != "}\n":
        lines.append(process.stdout.readline())
        assert lines[-1], "the watch has ended"
    return str(json.loads("".join(lines))["name"])


def test_kubectl_completes_names_and_namespaces(
    control_plane: ControlPlane, namespace: str, env: dict[str, str]
) -> None:
    control_plane.apply([labelled("one"), labelled("other")], namespace)

    def completed(*words: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", COMPLETION, *words], env=env, capture_output=True, text=True, check=True
        )
        return [one.strip() for one in done.stdout.splitlines()[:-1] if one.strip()]

    assert completed("status", "-n", namespace, "o") == ["one", "other"]
    assert completed("status", "-n", namespace[:-1]) == [namespace]
