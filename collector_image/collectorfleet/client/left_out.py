"""Names of files that are never imported: hidden files, compiled files, caches, virtual environments."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import translate
from typing import Final

_NAMES: Final = (
    *(".*", "__pycache__", "__pypackages__", "*.pyc", "*.pyo", "*.egg-info"),
    *("node_modules", "site-packages", "venv"),
)
_IS_LEFT_OUT: Final = re.compile("|".join(map(translate, _NAMES)))
# virtualenv and Python's venv create this file, and conda creates this folder.
_OF_ENVIRONMENTS: Final = frozenset({"pyvenv.cfg", "conda-meta"})


def is_left_out(name: str) -> bool:
    """Return whether a part of the path ``name`` is the name of a file or folder that is never imported."""
    return any(map(_IS_LEFT_OUT.match, name.split("/")))


def is_environment(entries: Collection[str]) -> bool:
    """Return whether a folder with these entries is a virtual environment."""
    return not _OF_ENVIRONMENTS.isdisjoint(entries)


def environments(names: Iterable[str]) -> frozenset[str]:
    """Return the paths of the virtual environments below the packed folder. ``names`` are the paths of all files."""
    found: set[str] = set()
    for name in names:
        parts = name.split("/")
        found.update("/".join(parts[:at]) for at in range(1, len(parts)) if parts[at] in _OF_ENVIRONMENTS)
    return frozenset(found)
