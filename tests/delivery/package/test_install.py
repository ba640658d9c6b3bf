"""The package as a stranger installs it: from a registry, into an environment that is empty."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.built_wheel import PROJECT, UV, Environment
from tests.cluster.binaries import ROOT

PROGRAMS = {"collectorfleet", "kubectl-cfleet", "kubectl_complete-cfleet"}
VERSION = f"collectorfleet {PROJECT['version']}\n"
PLATFORMS = (
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-gnu",
)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.mark.parametrize("extra", ["", "[client]", "[operator]"], ids=["none", "client", "operator"])
def test_uv_installs_the_wheel_with_its_packages(extra: str, wheel: Path, tmp_path: Path) -> None:
    environment = Environment.make(tmp_path / "environment")
    environment.install(f"{wheel}{extra}")
    assert environment.run("collectorfleet", "--version").stdout == VERSION
    validated = environment.run("collectorfleet", "validate", str(ROOT / "examples/cartpole.yaml"))
    assert (validated.returncode, validated.stderr) == (0, "")
    needed = {
        "[client]": "collectorfleet.client, rich, argcomplete",
        "[operator]": "collectorfleet_operator.edge.metrics",
    }
    imported = environment.run("python", "-c", f"import {needed.get(extra, 'collectorfleet')}")
    assert (imported.returncode, imported.stderr) == (0, "")


def test_pip_installs_the_wheel_with_the_client(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    environment = Environment(tmp_path / "environment")
    done = environment.run("pip", "install", "--quiet", f"{wheel}[client]")
    assert done.returncode == 0, done.stderr
    assert environment.run("kubectl-cfleet", "--version").stdout == VERSION


def test_uv_installs_the_client_as_a_tool(wheel: Path, tmp_path: Path) -> None:
    env = {**os.environ, "UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    words = [
        *UV,
        "tool",
        "install",
        "--quiet",
        "--python",
        sys.executable,
        f"collectorfleet[client] @ {wheel.as_uri()}",
    ]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    check_programs(tmp_path / "bin")


def test_pipx_installs_the_client_as_a_program(wheel: Path, tmp_path: Path) -> None:
    folders = {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}
    env = {**os.environ, **{name: str(tmp_path / folder) for name, folder in folders.items()}}
    tool = Environment.make(tmp_path / "pipx")
    tool.install("--require-hashes", "--requirement", str(ROOT / "requirements/pipx.txt"))
    pipx = str(tool.folder / "bin" / "pipx")
    words = [pipx, "install", "--python", sys.executable, f"collectorfleet[client] @ {wheel.as_uri()}"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    check_programs(tmp_path / "bin")


def check_programs(folder: Path) -> None:
    """Check that a folder has the programs and no others, and that one of them runs."""
    assert {file.name for file in folder.iterdir()} == PROGRAMS
    said = subprocess.run([folder / "collectorfleet", "--version"], capture_output=True, text=True, check=False)
    assert said.stdout == VERSION


def test_the_packages_of_a_run_can_be_installed(wheel: Path, tmp_path: Path) -> None:
    """Resolved and not fetched: they are 6 GB, which `make venv` and the images install."""
    environment = Environment.make(tmp_path / "environment")
    words = [*UV, "pip", "install", "--dry-run", "--python", str(environment.folder), f"{wheel}[runtime]"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert " + torchrl==" in done.stderr


# Of each extra: the modules that its processes start with.
STARTS = {
    "operator": "collectorfleet_operator.__main__, collectorfleet_operator.edge.metrics",
    "runtime": "collectorfleet.pod.drive, collectorfleet.local.run, collectorfleet.transport.distributed.host_process",
}


@pytest.mark.parametrize("extra", STARTS)
def test_an_environment_of_an_extra_is_complete_and_leaves_nothing(extra: str, wheel: Path, tmp_path: Path) -> None:
    """The packages are those of `make venv`: links to uv's cache, so that the 6 GB of `runtime` take seconds."""
    environment = Environment.make(tmp_path / "environment")
    empty = files_of_the_project(environment)
    environment.install("--constraint", str(ROOT / "requirements/dev.txt"), f"{wheel}[{extra}]")
    checked = subprocess.run(
        [*UV, "pip", "check", "--python", str(environment.folder)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert environment.run("kubectl-cfleet", "--version").stdout == VERSION
    imported = environment.run("python", "-W", "ignore", "-c", f"import {STARTS[extra]}")
    assert imported.returncode == 0, imported.stderr
    said = environment.run("python", "-c", HELP_OF_ALL)
    assert (said.returncode, said.stderr) == (0, "")
    if extra == "operator":
        assert environment.run("python", "-m", "collectorfleet_operator", "--help").returncode == 0
    environment.uninstall("collectorfleet")
    assert files_of_the_project(environment) == empty == set()


# In one process: a process for each command takes seconds.
HELP_OF_ALL = """
import contextlib, io
from collectorfleet.cli.main import main
from collectorfleet.cli.parser import parser
commands = next(action for action in parser()._actions if action.dest == "command" or action.choices).choices
assert len(commands) > 10
for command in commands:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([command, "--help"])
    assert out.getvalue().startswith(f"usage: collectorfleet {command} "), command
"""


def files_of_the_project(environment: Environment) -> set[str]:
    found = [*environment.site_packages.iterdir(), *(environment.folder / "bin").iterdir()]
    return {path.name for path in found if "collectorfleet" in path.name or "cfleet" in path.name}


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_client_has_wheels_for_every_platform(platform: str, python: str) -> None:
    words = [
        *(*UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:"),
        *("--python-platform", platform, "--python-version", python, "--python", sys.executable),
        *("--extra", "client", "pyproject.toml"),
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "kubernetes==" in done.stdout
    assert [heavy for heavy in ("torch==", "ray==", "numpy==") if heavy in done.stdout] == []
