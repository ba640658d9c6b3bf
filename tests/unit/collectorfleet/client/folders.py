"""Folders of code, as users submit them."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

from collectorfleet.client.tree import Tree

LINK = "-> "


def folder(path: Path, files: dict[str, str]) -> Path:
    """Make the files below ``path``. A content that begins with ``->`` makes a symbolic link to what follows."""
    for name, text in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith(LINK):
            file.symlink_to(text.removeprefix(LINK))
        else:
            file.write_bytes(os.fsencode(text))
    return path


def files(*names: str) -> dict[str, str]:
    """Each with its own name as the content."""
    return {name: f"content of {name}" for name in names}


def contents(tree: Tree) -> dict[str, str]:
    """What the archive has, by name."""
    with tarfile.open(fileobj=io.BytesIO(tree.archive)) as archive:
        members = ((one.name, archive.extractfile(one)) for one in archive)
        return {name: content.read().decode() for name, content in members if content is not None}


def git(path: Path, *words: str) -> None:
    """Run git as on a machine without settings of a user or of a system."""
    env = {"PATH": os.environ["PATH"], "HOME": str(path), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], cwd=path, env=env, check=True, capture_output=True)


def repository(path: Path, files: dict[str, str]) -> Path:
    """Make the files in a new repository, with none of them added."""
    folder(path, files)
    git(path, "init", "--quiet")
    return path
