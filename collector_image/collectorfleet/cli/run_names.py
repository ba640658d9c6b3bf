"""The argument RUN of ``export`` and ``report``: the folder of a run, or the name of a fleet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from collectorfleet.cli import cluster
from collectorfleet.errors import ClusterError, InvalidOption
from collectorfleet.timeline import files


def is_folder(run: str) -> bool:
    """Return whether ``run`` is a path with a slash or the folder of a run. Any other ``run`` is the name of a fleet.

    The folder of a run has a timeline or a checkpoint. ``collectorfleet init`` makes other folders that have the name
    of a fleet.
    """
    # No name of a fleet has a slash.
    return "/" in run or run in (os.curdir, os.pardir) or _has_a_run(Path(run))


def folder_of(run: str) -> Path:
    """Return the folder ``run``. Raises InvalidOption if it is not a folder."""
    if not os.path.isdir(run):
        raise InvalidOption(
            f"{run} is not a folder; name a fleet on a cluster, or the folder of `collectorfleet run --checkpoint`"
        )
    return Path(run)


def if_folders_were_meant(names: Sequence[str], *errors: type[ClusterError]) -> AbstractContextManager[None]:
    """Add to the message of one of ``errors`` why ``names`` are no folders of runs: the user may have mistyped one."""
    why = "; ".join(map(_why_no_folder, names))
    return cluster.noted(f"{why}; name a fleet, or the folder of `collectorfleet run --checkpoint`", *errors)


def _has_a_run(folder: Path) -> bool:
    try:
        return (folder / files.NAME).exists() or any(folder.glob("checkpoint-*/checkpoint.json"))
    except OSError:  # such as a name that is too long
        return False


def _why_no_folder(name: str) -> str:
    if os.path.isdir(name):
        return f"folder {name} has no checkpoint and no {files.NAME}"
    return f"{name} is not a folder" if os.path.exists(name) else f"no folder {name} exists"
