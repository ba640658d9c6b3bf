"""A git repository that a test makes and commits to."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

# Nothing of the user's own git is read.
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "somebody",
    "GIT_AUTHOR_EMAIL": "somebody@example.com",
    "GIT_COMMITTER_NAME": "somebody",
    "GIT_COMMITTER_EMAIL": "somebody@example.com",
}
BRANCH = "main"


class Repository:
    """A bare repository ``<folder>/served/fleets.git`` with the branch ``main``, and a tree to commit from."""

    def __init__(self, folder: Path) -> None:
        self.served = folder / "served"
        self._tree = folder / "tree"
        bare = self.served / "fleets.git"
        bare.mkdir(parents=True)
        _git(bare, "init", "--quiet", "--bare", f"--initial-branch={BRANCH}")
        _git(folder, "clone", "--quiet", str(bare), str(self._tree))

    def commit(self, files: Mapping[str, str | Path | None]) -> str:
        """Write files (text, or a copy of a file or folder), remove those that are None, and push.

        What is not named stays as it is. Returns the commit's id.
        """
        for name, content in files.items():
            _put(self._tree / name, content)
        _git(self._tree, "add", "--all")
        _git(self._tree, "commit", "--quiet", "--message", ", ".join(files))
        _git(self._tree, "push", "--quiet", "origin", BRANCH)
        return _git(self._tree, "rev-parse", "HEAD").strip()


def _put(path: Path, content: str | Path | None) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if content is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_text(content)
    elif content.is_dir():
        shutil.copytree(content, path)
    else:
        shutil.copyfile(content, path)


def _git(where: Path, *words: str) -> str:
    env = os.environ | _ENVIRONMENT
    done = subprocess.run(["git", *words], cwd=where, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
