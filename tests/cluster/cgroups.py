"""Create and remove the cgroup of a node, in every hierarchy of version 1 or in the only hierarchy of version 2."""

from __future__ import annotations

import contextlib
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
# A kubelet refuses a cgroup of version 2 that lacks one of these.
CONTROLLERS = ("cpu", "cpuset", "hugetlb", "memory", "pids")


def hierarchies() -> list[Path]:
    """Return the root folder of each hierarchy."""
    if _unified():
        return [ROOT]
    return [folder for folder in ROOT.iterdir() if (folder / "cgroup.procs").exists()]


def create(name: str) -> None:
    """Create the cgroup ``name`` below the root of each hierarchy."""
    if _unified():
        available = (ROOT / "cgroup.controllers").read_text().split()
        _switch("+", [controller for controller in CONTROLLERS if controller in available])
    for hierarchy in hierarchies():
        group = hierarchy / name
        group.mkdir(exist_ok=True)
        # In version 1, a new cpuset is empty, and no process can run in it.
        for setting in ("cpuset.cpus", "cpuset.mems"):
            if hierarchy != ROOT and (group / setting).exists():
                (group / setting).write_text((hierarchy / setting).read_text())


def remove(name: str) -> bool:
    """Remove the cgroup and the cgroups below it. Return False if a part remains because a process still uses it."""
    for hierarchy in hierarchies():
        group = hierarchy / name
        for folder in sorted(group.rglob("*/"), key=lambda f: len(f.parts), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()
        with contextlib.suppress(OSError):
            group.rmdir()
    return not any((hierarchy / name).exists() for hierarchy in hierarchies())


def switched_on() -> list[str]:
    """Return the controllers that are enabled for cgroups below the root; empty in version 1."""
    return (ROOT / "cgroup.subtree_control").read_text().split() if _unified() else []


def switch_off_all_but(kept: list[str]) -> None:
    """Disable the controllers that ``create`` enabled, except controllers in use.

    ``kept`` has the controllers that were enabled before.
    """
    for controller in set(switched_on()) - set(kept):
        with contextlib.suppress(OSError):
            _switch("-", [controller])


def _unified() -> bool:
    return (ROOT / "cgroup.controllers").exists()


def _switch(sign: str, controllers: list[str]) -> None:
    (ROOT / "cgroup.subtree_control").write_text(" ".join(f"{sign}{controller}" for controller in controllers))
