"""The workflows that check and release this project: what can be known of them without running them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster import binaries

FILES = sorted((binaries.ROOT / ".github/workflows").glob("*.yml"))
# Of a step: what it uses, by the commit, and the version that a person reads.
PINNED = re.compile(r"^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def workflow(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text())
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_actionlint_has_nothing_to_say(file: Path) -> None:
    if reason := binaries.missing([binaries.ACTIONLINT]):
        pytest.skip(f"left out the test of the workflows: {reason}")
    actionlint = binaries.build(binaries.ACTIONLINT) / "actionlint"
    done = subprocess.run([actionlint, "-oneline", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_actions_are_pinned_by_their_commit(file: Path) -> None:
    used = re.findall(r"^ *(?:- )?uses: (.*)$", file.read_text(), flags=re.MULTILINE)
    assert used
    assert [action for action in used if not PINNED.match(action)] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nobody_may_write_but_the_job_that_has_to(file: Path) -> None:
    assert set(workflow(file)["permissions"].items()) <= {("contents", "read")}


def test_nothing_is_released_that_was_not_checked() -> None:
    jobs = workflow(binaries.ROOT / ".github/workflows/release.yml")["jobs"]
    assert any("bash .ci/run" in step.get("run", "") for step in jobs["check"]["steps"])
    assert "check" not in jobs["check"].get("needs", [])
    for name, job in jobs.items():
        needs = job.get("needs", [])
        assert name == "check" or "check" in needs


def test_the_package_is_published_last_by_the_identity_of_the_workflow() -> None:
    jobs = workflow(binaries.ROOT / ".github/workflows/release.yml")["jobs"]
    published = [
        name for name, job in jobs.items() if any("uv publish" in step.get("run", "") for step in job["steps"])
    ]
    assert published == ["publish"]
    assert [name for name, job in jobs.items() if "publish" in job.get("needs", [])] == []
    assert (jobs["publish"]["environment"], jobs["publish"]["permissions"]["id-token"]) == ("pypi", "write")
    assert any(step.get("run") == "make dist" for step in jobs["package"]["steps"])
