"""The workflows that check and release this project: what can be known of them without running them."""

from __future__ import annotations

import os
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


def release_step(job: str, name: str) -> str:
    """Return the script of a step of the release."""
    steps = workflow(binaries.ROOT / ".github/workflows/release.yml")["jobs"][job]["steps"]
    (script,) = [step["run"] for step in steps if step.get("name") == name]
    return str(script)


def run_script(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a runner of GitHub does."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


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


@pytest.mark.parametrize(
    ("tag", "heading", "message"),
    [
        pytest.param("v1.2.0", "## 1.2.0 - 2026-12-01", "", id="ready"),
        pytest.param("v1.2.0", "## 1.2.0", "", id="without a date"),
        pytest.param("v1.3.0", "## 1.3.0", "the tag is v1.3.0 and pyproject.toml has 1.2.0", id="another version"),
        pytest.param("v1.2.0", "## Unreleased", "CHANGELOG.md has no section on 1.2.0", id="no changes"),
        pytest.param("v1.2.0", "## 11.2.0", "CHANGELOG.md has no section on 1.2.0", id="changes of a longer version"),
    ],
)
def test_a_tag_is_refused_before_anything_is_built(tmp_path: Path, tag: str, heading: str, message: str) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n\n* A change.\n")
    output = tmp_path / "output"
    script = release_step("check", "The tag is the version of the project, and CHANGELOG.md has a section on it")
    done = run_script(script, tmp_path, GITHUB_REF_NAME=tag, GITHUB_OUTPUT=str(output))
    assert message in done.stderr
    assert (done.returncode, output.exists()) == ((1, False) if message else (0, True))
    assert message or output.read_text() == "version=1.2.0\n"


def test_a_release_has_the_section_of_its_changelog_the_manifests_and_the_package(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    for name in ("it.whl", "it.tar.gz"):
        (tmp_path / "dist" / name).touch()
    sections = ["## Unreleased\n\n* Later.\n", "## 1.2.0 - 2026-12-01\n\n* Now.\n", "## 11.2.0\n\n* Other.\n"]
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n" + "".join(sections))
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text('#!/bin/sh\n[ "$2" = create ] && printf "%s\\n" "$@" > gh.txt\n')
    gh.chmod(0o755)
    script = release_step("release", "The manifests and the package, with what CHANGELOG.md says of this version")
    done = run_script(script, tmp_path, VERSION="1.2.0", PATH=f"{gh.parent}:{os.environ['PATH']}")
    assert (done.returncode, (tmp_path / "notes.md").read_text()) == (0, sections[1])
    attached = (tmp_path / "gh.txt").read_text().splitlines()
    assert [name for name in attached if name.startswith("dist/")] == ["dist/it.tar.gz", "dist/it.whl"]
    assert {"crds/collectorfleets.yaml", "operator/manifests/operator.yaml"} <= set(attached)


def test_a_push_to_main_publishes_the_site_that_was_built_strictly() -> None:
    site = workflow(binaries.ROOT / ".github/workflows/site.yml")
    # YAML reads `on` as true.
    assert site[True] == {"push": {"branches": ["main"]}, "pull_request": None}
    build, publish = site["jobs"]["build"], site["jobs"]["publish"]
    assert any(step.get("run") == "make docs" for step in build["steps"])
    assert (publish["needs"], publish["if"]) == ("build", "github.event_name == 'push'")
    assert publish["permissions"] == {"pages": "write", "id-token": "write"}


def test_both_images_are_built_anew_and_scanned_every_week() -> None:
    images = workflow(binaries.ROOT / ".github/workflows/images.yml")
    (schedule,) = images[True]["schedule"]
    assert re.fullmatch(r"\d+ \d+ \* \* \d", schedule["cron"])
    scan = images["jobs"]["scan"]
    dockerfiles = {one["dockerfile"] for one in scan["strategy"]["matrix"]["include"]}
    assert dockerfiles == {"operator/Dockerfile", "collector_image/Dockerfile"}
    assert all((binaries.ROOT / file).is_file() for file in dockerfiles)
    (build,) = [step["with"] for step in scan["steps"] if step.get("uses", "").startswith("docker/build-push-action@")]
    assert (build["pull"], build["no-cache"]) == (True, True)
    assert any("--fail-on high" in step.get("run", "") for step in scan["steps"])


def test_an_action_has_one_version_in_all_workflows() -> None:
    used = {line for file in FILES for line in re.findall(r"uses: (\S+@.*)$", file.read_text(), flags=re.MULTILINE)}
    actions = [line.partition("@")[0] for line in used]
    assert sorted(actions) == sorted(set(actions))
