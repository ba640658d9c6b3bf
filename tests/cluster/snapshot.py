"""Read the machine's state that a cluster may change, to compare the state before and after a cluster."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from tests.cluster import cgroups
from tests.cluster.machine import MOUNT_POINTS, SYSCTLS, Process
from tests.cluster.network import run


def machine_state() -> set[str]:
    """Return links, addresses, routes, firewall rules, mounts, sysctls, cgroups and files in shared folders.

    Each is one line of text.
    """
    return set(_lines())


def members(holder: Process) -> set[Process]:
    """Return ``holder`` and all processes that run now in the PID namespace that it holds, or in a namespace below."""
    parents: dict[int, int] = {}
    roots = {holder.pid}
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        with contextlib.suppress(OSError):  # the process ended, or this user may not read it
            parents[pid] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (folder / "ns/pid").readlink() == Path(f"/proc/{holder.pid}/ns/pid_for_children").readlink():
                roots.add(pid)
    found = set()
    for pid in parents:
        if roots & set(_line_of_descent(pid, parents)):
            with contextlib.suppress(OSError):  # the process ended, or this user may not read it
                found.add(Process.of(pid))
    return found


def _line_of_descent(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid:
        yield pid
        pid = parents.get(pid, 0)


def _lines() -> Iterator[str]:
    for link in json.loads(run("ip", "-json", "address", "show")):
        addresses = sorted(f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"])
        yield f"link {link['ifname']} {' '.join(addresses)}"
    yield from (f"route {line}" for line in run("ip", "route", "show", "table", "all").splitlines())
    yield from (f"nft {line}" for line in run("nft", "list", "ruleset").splitlines())
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        yield f"mount {line.split()[4]} {line.split(' - ')[1]}"
    yield from (f"sysctl {name} {(Path('/proc/sys') / name).read_text().strip()}" for name in SYSCTLS)
    yield from (f"cgroup {group}" for hierarchy in cgroups.hierarchies() for group in hierarchy.glob("*/"))
    for folder in {Path("/opt"), *(point.parent for point in MOUNT_POINTS)}:
        yield from (f"file {entry}" for entry in folder.iterdir())
