"""The files that help to contribute name commands, versions and jobs that exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.thin_images import VERSION

HOOKS = ROOT / ".pre-commit-config.yaml"
CONTAINER = ROOT / ".devcontainer/devcontainer.json"
IMAGE = re.compile(r"ghcr\.io/collectorfleet/(?:collectorfleet|operator):(\d[\w.-]*)")

NAMED_TEST = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


def hooks() -> list[dict[str, Any]]:
    """Return the hooks of all repositories of hooks."""
    repositories = yaml.safe_load(HOOKS.read_text())["repos"]
    assert [one["repo"] for one in repositories] == ["local"]
    return [hook for one in repositories for hook in one["hooks"]]


def container() -> dict[str, Any]:
    """Return the development container, whose format allows comments."""
    found: dict[str, Any] = json.loads(re.sub(r"^\s*//.*$", "", CONTAINER.read_text(), flags=re.MULTILINE))
    return found


@pytest.mark.parametrize(
    "command", [*(hook["entry"] for hook in hooks()), container()["postCreateCommand"], "make run", "make check"]
)
def test_a_command_is_a_target_of_make(command: str) -> None:
    make, target = command.split()
    done = subprocess.run([make, "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target", ["check", "run", "venv"])
def test_a_system_without_wheels_of_torch_is_told_what_it_can_do(target: str, tmp_path: Path) -> None:
    outside_of_make = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    # Without the sentence, the next step fails at once, and pip and uv cannot install 6 GB.
    offline = {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "UV_NO_CACHE": "1"}
    for name, script in {"uname": "echo Darwin", "python3": "exit 1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["make", f"VENV={tmp_path}/venv", target],
        cwd=ROOT,
        env={**outside_of_make, **offline, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    sentence, failed = done.stderr.splitlines()
    assert sentence.startswith(".venv needs Linux, because the pinned torch ")
    assert sentence.endswith("Here, use make dist, make docs, and the commands for clusters (docs/cli.md).")
    assert failed.startswith("make: ***")
    assert not (tmp_path / "venv").exists()


def test_a_commit_is_checked_by_what_continuous_integration_runs() -> None:
    (targets,) = re.findall(r"for target in ([a-z ]+);", (ROOT / ".ci/run").read_text())
    assert {hook["entry"] for hook in hooks()} <= {f"make {target}" for target in targets.split()}
    for hook in hooks():
        assert (hook["language"], hook["pass_filenames"]) == ("system", False)
        assert re.search(hook["files"], "crds/collectorfleet_api/names.py")


@pytest.mark.parametrize("dockerfile", ["collector_image/Dockerfile", "operator/Dockerfile"])
def test_the_development_container_has_the_python_and_the_debian_of_the_images(dockerfile: str) -> None:
    (base,) = re.findall(r"^ARG BASE=(\S+)$", (ROOT / dockerfile).read_text(), flags=re.MULTILINE)
    assert container()["image"] == base.replace("-slim", "")


def test_the_way_of_an_option_names_files_and_tests_that_exist() -> None:
    _, _, rest = (ROOT / "CONTRIBUTING.md").read_text().partition("## Add an option to `spec.collection`")
    section = rest.partition("\n## ")[0]
    files = re.findall(r"`([\w/-]+\.(?:py|md))`", section)
    assert len(files) == 8
    assert [name for name in files if not (ROOT / name).is_file()] == []
    defined = {name for one in (ROOT / "tests/unit").rglob("test_*.py") for name in NAMED_TEST.findall(one.read_text())}
    named = set(re.findall(r"`(test_\w+)`", section))
    assert len(named) == 5
    assert named <= defined


def test_the_guide_to_releases_describes_each_job() -> None:
    guide = (ROOT / "docs/contributing/releases.md").read_text()
    rows = re.findall(r"^\| ([a-z]+) \| .* \| ([a-z, ]*)\|$", guide.partition("| --- |")[2], flags=re.MULTILINE)
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    assert [name for name, _ in rows] == list(jobs)
    for name, after in rows:
        needs = jobs[name].get("needs", [])
        assert set(after.strip().split(", ")) - {""} <= set([needs] if isinstance(needs, str) else needs)


@pytest.mark.parametrize(
    "places",
    [
        "README.md",
        "docs/**/*.md",
        "examples/**/*.yaml",
        "examples/**/*.md",
        "examples/**/Dockerfile",
        "charts/**/*.yaml",
        "charts/**/*.md",
        "collector_image/Dockerfile",
        "operator/manifests/*.yaml",
        "benchmarks/start/*.yaml",
    ],
)
def test_an_image_of_this_project_has_its_version(places: str) -> None:
    versions = {str(page.relative_to(ROOT)): set(IMAGE.findall(page.read_text())) for page in ROOT.glob(places)}
    named = {page: version for page, version in versions.items() if version}
    assert named
    assert {page: version for page, version in named.items() if version != {VERSION}} == {}


def test_each_file_of_tests_that_it_names_exists() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`(tests/[\w/]+(?:\.py)?)`", page))
    assert len(named) > 20
    assert {path for path in named if not (ROOT / path).exists()} == set()
