"""Videos of a run's episodes: files in a folder whose names say what they show."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FOLDER: Final = "videos"
_NAME: Final = re.compile(r"version-(\d{6,18})-episode-(\d{1,9})-return-(-?[0-9][0-9.e+-]*)\.webp")


@dataclass(frozen=True)
class VideoFile:
    """An animated WebP file of one episode. ``episode`` counts from 0; ``episode_return`` has six digits."""

    version: int
    episode: int
    episode_return: str
    data: bytes = field(repr=False, default=b"")


def name_of(version: int, episode: int, episode_return: float) -> str:
    """Return the name of a file, such as ``version-000120-episode-0-return-475.webp``."""
    return f"{prefix_of(version, episode)}{episode_return:.6g}.webp"


def prefix_of(version: int, episode: int) -> str:
    """Return what the names of all files of this episode begin with."""
    return f"version-{version:06d}-episode-{episode}-return-"


def newest_videos(folder: Path) -> list[VideoFile]:
    """Return the videos of the version in ``folder`` that was written last, in the order of episodes.

    There are none without the folder. The version decides between files of the same time. Raises OSError for a file
    that cannot be read.
    """
    # A run that resumes at an older checkpoint continues with a lower version than that of the newest file.
    try:
        found = [(match, path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    except FileNotFoundError:
        return []
    _, newest = max(((_written_at(path), int(match[1])) for match, path in found), default=(0, None))
    shown = [_read(match, path) for match, path in found if int(match[1]) == newest]
    return sorted((one for one in shown if one is not None), key=lambda one: one.episode)


def _written_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # replaced meanwhile
        return 0


def _read(name: re.Match[str], path: Path) -> VideoFile | None:
    try:
        return VideoFile(int(name[1]), int(name[2]), name[3], path.read_bytes())
    except FileNotFoundError:  # replaced meanwhile
        return None
