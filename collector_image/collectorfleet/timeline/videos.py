"""Name and find videos of a run's episodes. A file's name has the version, the episode and its return."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from collectorfleet.errors import InvalidOption
from collectorfleet.regular_files import read_regular

FOLDER: Final = "videos"
_NAME: Final = re.compile(r"version-(\d{6,18})-episode-(\d{1,9})-return-(-?[0-9][0-9.e+-]*)\.webp")


@dataclass(frozen=True)
class VideoFile:
    """An animated WebP file of one episode. ``episode`` counts from 0. ``episode_return`` is rounded to six digits."""

    version: int
    episode: int
    episode_return: str
    data: bytes = field(repr=False, default=b"")


def name_of(version: int, episode: int, episode_return: float) -> str:
    """Return the name of a file, such as ``version-000120-episode-0-return-475.webp``."""
    return f"{prefix_of(version, episode)}{episode_return:.6g}.webp"


def prefix_of(version: int, episode: int) -> str:
    """Return the prefix of the names of all files of this episode."""
    return f"version-{version:06d}-episode-{episode}-return-"


def newest_videos(folder: Path) -> list[VideoFile]:
    """Return the videos of the last written version in ``folder``, in the order of episodes.

    The list is empty if the folder does not exist or is a file. If files have the same time, the highest version counts
    as the last. Raises OSError if a file cannot be read.
    """
    # The time decides, not the version: after a resume from an older checkpoint, new versions may be lower.
    try:
        found = [(match, path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    except (FileNotFoundError, NotADirectoryError):
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
        return VideoFile(int(name[1]), int(name[2]), name[3], read_regular(path))
    except (FileNotFoundError, IsADirectoryError, InvalidOption):  # replaced meanwhile, or no video
        return None
