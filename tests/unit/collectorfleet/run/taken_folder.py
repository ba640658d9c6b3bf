"""A folder that this process has taken."""

from __future__ import annotations

from pathlib import Path

from collectorfleet.run.fenced_folder import FencedFolder


def taken(path: Path) -> FencedFolder:
    folder = FencedFolder(path)
    folder.take()
    return folder
