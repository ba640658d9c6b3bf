"""Numbers with their spread, Markdown tables, and what one must know of the machine."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path


def spread(values: Sequence[float], unit: str = "") -> str:
    """``median (min-max)``."""
    if not values:
        return "-"
    if len(values) == 1:
        return number(values[0]) + unit
    to = " to " if min(values) < 0 else "-"
    return f"{number(statistics.median(values))}{unit} ({number(min(values))}{to}{number(max(values))})"


def number(value: float) -> str:
    """Three digits, without an exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def machine(*packages: str) -> str:
    """Cores, load and versions; no name and no place."""
    versions = ", ".join(
        f"{package} {version(package)}" for package in packages or ("torch", "torchrl", "tensordict", "ray")
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB of memory, "
        f"Python {platform.python_version()}, {versions}; load average at the end {os.getloadavg()[0]:.1f}"
    )


def write(path: str, text: str) -> None:
    Path(path).write_text(text.rstrip() + "\n")
    print(f"wrote {path}")
