"""Find the open sockets of a simulator's processes. Linux only."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Final

_SOCKET: Final = re.compile(r"socket:\[(\d+)\]")


def open_sockets(ancestor: int) -> set[int] | None:
    """Return the inodes of the sockets that a process's descendants have open.

    Return None if the sockets of a descendant cannot be read. The kernel hides the sockets of a process that runs as
    another user or with additional capabilities.
    """
    found: set[int] = set()
    for pid in _descendants(ancestor):
        try:
            found |= _sockets(pid)
        except PermissionError:
            return None
        except OSError:  # the process has ended
            continue
    return found


def _descendants(ancestor: int) -> list[int]:
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            # The program name in parentheses may contain spaces.
            parent = int(Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()[1])
        except OSError:  # the process has ended
            continue
        children[parent].append(int(entry))
    found = [*children[ancestor]]
    for pid in found:
        found += children[pid]
    return found


def _sockets(pid: int) -> set[int]:
    found = set()
    folder = f"/proc/{pid}/fd"
    for entry in os.listdir(folder):
        try:
            match = _SOCKET.fullmatch(os.readlink(f"{folder}/{entry}"))
        except FileNotFoundError:  # the file was closed
            continue
        if match:
            found.add(int(match[1]))
    return found
