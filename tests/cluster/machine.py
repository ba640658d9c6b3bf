"""Register clusters on this machine, and restore the machine's state after the last one.

Clusters share a small registry below /run. It assigns an index to each cluster. Every name and subnet of a cluster
follows from its index, so clusters do not collide. The first cluster records the machine's state: the sysctls and
cgroup controllers that clusters change, and the mount points that do not exist. The end of the last cluster restores
this state. If the owner of a cluster died without a cleanup, the next cluster that starts removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.cluster import cgroups

REGISTRY = Path("/run/collectorfleet-test-clusters")
CLUSTERS = 16
# Kubelets set these for the whole machine.
SYSCTLS = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)
# Built-in paths at which kubelet, containerd and CNI plugins keep state. Each node mounts its own folders there.
MOUNT_POINTS = (
    Path("/run/containerd"),
    Path("/run/netns"),
    Path("/var/lib/cni"),
    Path("/var/lib/kubelet"),
    Path("/var/log/containers"),
    Path("/var/log/pods"),
)


@dataclass(frozen=True)
class Process:
    """A process, identified by pid and start time. The pid alone may belong to another process later."""

    pid: int
    started: int  # clock ticks since boot

    @classmethod
    def of(cls, pid: int) -> Process:
        return cls(pid, int(_stat(pid)[19]))

    @property
    def alive(self) -> bool:
        try:
            stat = _stat(self.pid)
        except (FileNotFoundError, ProcessLookupError):
            return False
        return int(stat[19]) == self.started and stat[0] != "Z"


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat, beginning with the state."""
    # The command's name precedes them in parentheses, and may contain any character.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


@dataclass
class Entry:
    """The registry's entry of one cluster, with which any process can remove the cluster."""

    index: int
    folder: Path
    owner: Process | None  # None: the cluster outlives the process that started it
    holders: dict[str, Process]  # the processes that hold the namespaces of the switch and of each node

    def hold(self, name: str, holder: Process) -> None:
        """Add the process that holds the namespaces of ``name``, and save the entry."""
        self.holders[name] = holder
        self.save()

    def save(self) -> None:
        text = json.dumps(asdict(self) | {"folder": str(self.folder)})
        partial = _entry_path(self.index).with_suffix(".partial")
        partial.write_text(text)
        partial.rename(_entry_path(self.index))

    @classmethod
    def load(cls, path: Path) -> Entry:
        raw: dict[str, Any] = json.loads(path.read_text())
        return cls(
            raw["index"],
            Path(raw["folder"]),
            Process(**raw["owner"]) if raw["owner"] else None,
            {name: Process(**holder) for name, holder in raw["holders"].items()},
        )

    @property
    def orphaned(self) -> bool:
        """Return whether the process that owns the cluster has ended."""
        return self.owner is not None and not self.owner.alive


def claim(folder: Path, *, bound: bool, usable: Iterator[int]) -> Entry:
    """Register a cluster under the first free index of ``usable``. RuntimeError if none is free.

    A ``bound`` cluster belongs to this process, and counts as orphaned once the process has ended.
    """
    with _locked():
        taken = {entry.index for entry in entries()}
        if not taken:
            _remember_machine()
        index = next((i for i in usable if i not in taken), None)
        if index is None:
            raise RuntimeError(f"no index is free for another cluster ({len(taken)} of {CLUSTERS} run); stop one")
        for point in MOUNT_POINTS:
            point.mkdir(parents=True, exist_ok=True)
        entry = Entry(index, folder, Process.of(os.getpid()) if bound else None, {})
        entry.save()
        return entry


def release(entry: Entry) -> None:
    """Remove a cluster from the registry. After the last cluster, restore the machine's state."""
    with _locked():
        _entry_path(entry.index).unlink(missing_ok=True)
        if not list(entries()):
            _restore_machine()


def entries() -> Iterator[Entry]:
    """Yield the entries of all registered clusters."""
    for path in sorted(REGISTRY.glob("[0-9]*.json")):
        yield Entry.load(path)


def _entry_path(index: int) -> Path:
    return REGISTRY / f"{index}.json"


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    # Lock the folder above: REGISTRY is deleted after the last cluster, and a lock file of our own would stay.
    lock = os.open(REGISTRY.parent, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _remember_machine() -> None:
    REGISTRY.mkdir(exist_ok=True)
    before = {
        "sysctls": {name: _sysctl(name).read_text().strip() for name in SYSCTLS if _sysctl(name).exists()},
        "controllers": cgroups.switched_on(),
        "made": [str(point) for point in MOUNT_POINTS if not point.exists()],
    }
    (REGISTRY / "machine").write_text(json.dumps(before))


def _restore_machine() -> None:
    before = json.loads((REGISTRY / "machine").read_text())
    for name, value in before["sysctls"].items():
        _sysctl(name).write_text(value)
    cgroups.switch_off_all_but(before["controllers"])
    for point in before["made"]:
        with contextlib.suppress(OSError):  # another program uses the folder
            Path(point).rmdir()
    (REGISTRY / "machine").unlink()
    REGISTRY.rmdir()


def _sysctl(name: str) -> Path:
    return Path("/proc/sys") / name
