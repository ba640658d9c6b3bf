"""What stays in an environment when the package is upgraded and uninstalled."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from tests.built_wheel import PROJECT, Environment, build, needed
from tests.cluster.binaries import ROOT

NEEDED_TO_BUILD = (
    "crds",
    "operator",
    "collector_image",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "hatch_build.py",
)

# What uv leaves, and what Python compiled of a package that is one file.
OF_OTHERS = {".lock", f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages/__pycache__"}


@pytest.fixture
def former_wheel(tmp_path: Path) -> Path:
    """The wheel of a lower version, with a module that the current version no longer has."""
    tree = tmp_path / "former"
    tree.mkdir()
    for name in NEEDED_TO_BUILD:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    project = tree / "pyproject.toml"
    project.write_text(project.read_text().replace(f'version = "{PROJECT["version"]}"', 'version = "0.0.9"', 1))
    (tree / "collector_image/collectorfleet/former.py").touch()
    return build(tree, tmp_path / "dist")


def test_an_upgrade_leaves_nothing_of_the_former_version_and_uninstalling_nothing_at_all(
    wheel: Path, former_wheel: Path, tmp_path: Path
) -> None:
    environment = Environment.make(tmp_path / "environment")
    environment.link(needed(None))
    before = files(environment)
    assert of_the_project(before) == set()
    environment.install("--no-deps", "--offline", str(former_wheel))
    assert environment.run("collectorfleet", "--version").stdout == "collectorfleet 0.0.9\n"
    environment.install("--no-deps", "--offline", str(wheel))
    upgraded = files(environment) - before
    assert environment.run("collectorfleet", "--version").stdout == f"collectorfleet {PROJECT['version']}\n"
    assert [name for name in upgraded if "former" in name or "0.0.9" in name] == []
    environment.uninstall("collectorfleet")
    assert of_the_project(files(environment)) == set()
    assert files(environment) - before <= OF_OTHERS


def of_the_project(names: set[str]) -> set[str]:
    return {name for name in names if "collectorfleet" in name or "cfleet" in name}


def files(environment: Environment) -> set[str]:
    """Everything in the environment, without what links lead to."""
    found = environment.folder.rglob("*")
    return {str(path.relative_to(environment.folder)) for path in found if path.parent.name != "__pycache__"}
