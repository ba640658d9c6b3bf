"""Make virtual environments with the built wheel, the packages that one of its extras requires, and no others.

The packages are links to the packages of this test run, so nothing is downloaded and 6 GB are not copied.
`tests/delivery/package` installs packages from the registry.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.cluster.binaries import ROOT

UV: Final = (sys.executable, "-m", "uv")
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@dataclass(frozen=True)
class Environment:
    """A virtual environment in a folder of its own."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Environment:
        """Make an environment in ``folder`` with this Python and without packages."""
        uv("venv", "--quiet", "--python", sys.executable, str(folder))
        return cls(folder)

    @property
    def site_packages(self) -> Path:
        return next((self.folder / "lib").glob("python*/site-packages"))

    def install(self, *words: str) -> None:
        uv("pip", "install", "--quiet", "--python", str(self.folder), *words)

    def uninstall(self, name: str) -> None:
        uv("pip", "uninstall", "--quiet", "--python", str(self.folder), name)

    def link(self, packages: Iterable[Distribution]) -> None:
        """Link the files and folders of packages into this environment."""
        for package in packages:
            tops = {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}
            for top in tops:
                link = self.site_packages / top
                if not link.exists():
                    link.symlink_to(package.locate_file(top))

    def run(self, program: str, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program of this environment in ``cwd``, by default the environment's folder.

        The program does not import the working copy, because it has no ``PYTHONPATH``. Blocks until the program ends.
        """
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "COLUMNS": "200"}
        return subprocess.run(
            [self.folder / "bin" / program, *words],
            cwd=cwd or self.folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )


def uv(*words: str) -> None:
    """Run uv. AssertionError with its stderr if it fails."""
    done = subprocess.run([*UV, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def build(source: Path, out: Path) -> Path:
    """Build the sdist of ``source`` and the wheel from the sdist, with the pinned tools. Return the wheel's path."""
    uv("build", "--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", str(out), str(source))
    return next(out.glob("*.whl"))


def needed(extra: str | None) -> Iterable[Distribution]:
    """Return the packages that the project requires with ``extra``, with all of their own requirements."""
    asked = [*PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] if extra else ())]
    found: dict[tuple[str, frozenset[str]], Distribution] = {}
    waiting = [Requirement(text) for text in asked]
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in found:
            continue
        package = found[key] = distribution(requirement.name)
        extras = requirement.extras or {""}
        waiting += [
            one
            for one in map(Requirement, package.requires or ())
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras)
        ]
    return found.values()
