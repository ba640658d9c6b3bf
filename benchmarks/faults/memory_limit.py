"""Limits the memory of one running process with a cgroup, like a container. The kernel kills it above the limit."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


def _hierarchy() -> tuple[Path, str]:
    """Return the folder of the memory cgroups and the name of the limit, for cgroups of version 1 or 2."""
    if (_ROOT / "cgroup.controllers").exists():
        return _ROOT, "memory.max"
    return _ROOT / "memory", "memory.limit_in_bytes"


def missing() -> str | None:
    """Return why this machine cannot limit memory; None if it can."""
    folder, _ = _hierarchy()
    if not (folder / "cgroup.procs").exists():
        return f"no memory cgroups in {folder}"
    return None if os.access(folder, os.W_OK) else f"{folder} is not writable for this user"


@contextlib.contextmanager
def around(pid: int, size_bytes: int) -> Iterator[None]:
    """Limit the memory of process ``pid`` to ``size_bytes`` during the block."""
    root, setting = _hierarchy()
    group = root / f"collectorfleet-{pid}"
    group.mkdir()
    (group / setting).write_text(str(size_bytes))
    (group / "cgroup.procs").write_text(str(pid))
    try:
        yield
    finally:
        for member in (group / "cgroup.procs").read_text().split():
            (root / "cgroup.procs").write_text(member)
        group.rmdir()
