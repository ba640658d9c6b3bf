"""Formats numbers with their spread, Markdown tables, and a description of the machine."""

from __future__ import annotations

import itertools
import os
import platform
import statistics
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path


def spread(values: Sequence[float], unit: str = "") -> str:
    """Return ``median (min-max)`` with the unit after the median; one value alone; ``-`` for no values."""
    if not values:
        return "-"
    if len(values) == 1:
        return number(values[0]) + unit
    to = " to " if min(values) < 0 else "-"
    return f"{number(statistics.median(values))}{unit} ({number(min(values))}{to}{number(max(values))})"


def number(value: float) -> str:
    """Return ``value`` with three significant digits. From 100 on, return a whole number with separators."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def machine(*packages: str) -> str:
    """Return a description of the machine: cores, their speed, memory, load, and versions of ``packages``.

    The description has no name and no address of the machine. The measurement of the speed takes a few seconds.
    """
    versions = ", ".join(
        f"{package} {version(package)}" for package in packages or ("torch", "torchrl", "tensordict", "ray")
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB of memory; one core takes "
        f"{number(_additions_seconds())} s for ten million additions. Python {platform.python_version()}, {versions}. "
        f"Load average at the end {os.getloadavg()[0]:.1f}"
    )


def _additions_seconds() -> float:
    """Return the CPU seconds for ten million additions, the median of three runs.

    The speed of a virtual machine varies several times, between machines of one type and from day to day.
    """
    took = []
    for _ in range(3):
        began, total = time.process_time(), 0
        for one in range(10_000_000):
            total += one
        took.append(time.process_time() - began)
    return statistics.median(took)


def section(path: str, heading: str) -> str:
    """Return the section with this heading of the page at ``path``, such as a hand-written section to keep.

    The section begins with its heading and ends before the next heading of the same level. Return an empty text if the
    page or the section does not exist.
    """
    page = Path(path)
    lines = page.read_text().splitlines() if page.exists() else []
    if heading not in lines:
        return ""
    level = heading.partition(" ")[0] + " "
    first = lines.index(heading)
    after = itertools.takewhile(lambda line: not line.startswith(level), lines[first + 1 :])
    return "\n".join([heading, *after]).rstrip()


def write(path: str, text: str) -> None:
    """Write ``text`` into the file and print the path."""
    Path(path).write_text(text.rstrip() + "\n")
    print(f"wrote {path}")
