"""Make git repositories for tests, which may serve them over HTTP."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_WHO = {f"GIT_{who}_{what}": "me@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Repository:
    """A bare repository, and a working tree to commit from."""

    def __init__(self, folder: Path, name: str = "lab.git", object_format: str = "sha1") -> None:
        self.tree, self.bare = folder / f"{name}-tree", folder / name
        self.tree.mkdir()
        self.git("init", "--quiet", "--initial-branch=main", f"--object-format={object_format}")
        self.git("init", "--quiet", "--bare", f"--object-format={object_format}", str(self.bare))

    def git(self, *words: str) -> str:
        """Run git in the working tree and return its stdout."""
        env = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(self.tree), **_WHO}
        return subprocess.run(
            ["git", *words], cwd=self.tree, env=env, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, **files: str) -> str:
        """Commit Python files, push the commit to the bare repository, and return its hash.

        The names of ``files`` are paths without the suffix ``.py``.
        """
        for name, text in files.items():
            path = self.tree / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=change")
        self.git("push", "--quiet", str(self.bare), "HEAD:main")
        return self.git("rev-parse", "HEAD")
