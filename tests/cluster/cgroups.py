"""One cgroup per node, in every hierarchy of version 1 or in the one of version 2."""

from __future__ import annotations

import contextlib
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
# A kubelet refuses a cgroup of version 2 that lacks one of these.
CONTROLLERS = ("cpu", "cpuset", "hugetlb", "memory", "pids")


def hierarchies() -> list[Path]:
    if _unified():
        return [ROOT]
    return [folder for folder in ROOT.iterdir() if (folder / "cgroup.procs").exists()]


def create(name: str) -> None:
    if _unified():
        available = (ROOT / "cgroup.controllers").read_text().split()
        _switch("+", [controller for controller in CONTROLLERS if controller in available])
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


def switched_on() -> list[str]:
    """Controllers that cgroups below the root have; in version 1 that is no question."""
    return (ROOT / "cgroup.subtree_control").read_text().split() if _unified() else []


def switch_off_all_but(kept: list[str]) -> None:
    """Undo what ``create`` switched on, unless somebody uses it by now."""
    for controller in set(switched_on()) - set(kept):
        with contextlib.suppress(OSError):
            _switch("-", [controller])


def _unified() -> bool:
    return (ROOT / "cgroup.controllers").exists()


def _switch(sign: str, controllers: list[str]) -> None:
    (ROOT / "cgroup.subtree_control").write_text(" ".join(f"{sign}{controller}" for controller in controllers))
