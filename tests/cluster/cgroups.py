"""One cgroup per node, in every hierarchy of version 1 or in the one of version 2."""

from __future__ import annotations

import contextlib
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def hierarchies() -> list[Path]:
    if (ROOT / "cgroup.controllers").exists():
        return [ROOT]
    return [folder for folder in ROOT.iterdir() if (folder / "cgroup.procs").exists()]


def create(name: str) -> None:
    for hierarchy in hierarchies():
        group = hierarchy / name
        group.mkdir(exist_ok=True)
        # In version 1 a cpuset starts empty, and nothing can run in it.
        for setting in ("cpuset.cpus", "cpuset.mems"):
            if hierarchy != ROOT and (group / setting).exists():
                (group / setting).write_text((hierarchy / setting).read_text())


def remove(name: str) -> bool:
    """Remove the cgroup with all below it; False while a process that is ending still holds a part of it."""
    for hierarchy in hierarchies():
        group = hierarchy / name
        for folder in sorted(group.rglob("*/"), key=lambda f: len(f.parts), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()
        with contextlib.suppress(OSError):
            group.rmdir()
    return not any((hierarchy / name).exists() for hierarchy in hierarchies())
