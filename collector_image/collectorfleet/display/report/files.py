"""The page as a file that is read while it is written anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from collectorfleet import durable_files
from collectorfleet.display.report.page import page
from collectorfleet.timeline.timeline import Timeline
from collectorfleet.timeline.videos import newest_videos


def write_page(file: Path, state: str = "", videos: Path | None = None) -> Callable[[Timeline], None]:
    """What writes the page of a timeline into ``file``, whole or not at all, and raises OSError.

    ``state`` is what :func:`page` takes. The page shows the newest videos in the folder ``videos``.
    """

    def write(timeline: Timeline) -> None:
        write_whole(file, page(timeline, state, [] if videos is None else newest_videos(videos)))

    return write


def write_whole(file: Path, document: str) -> None:
    """Write the file, whole or not at all. Raises OSError."""
    # The page says that it is UTF-8, which has no half of a surrogate pair.
    content = document.encode(errors="backslashreplace")
    durable_files.write(file, lambda out: out.write(content))
