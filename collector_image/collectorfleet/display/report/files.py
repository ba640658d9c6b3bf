"""Write the page as a file. A reader of the file never sees half of a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from collectorfleet import durable_files
from collectorfleet.display.report.page import page
from collectorfleet.timeline.timeline import Timeline
from collectorfleet.timeline.videos import newest_videos


def write_page(file: Path, state: str = "", videos: Path | None = None) -> Callable[[Timeline], None]:
    """Return a function that writes the page of a timeline into ``file``, whole or not at all.

    The function raises OSError. For ``state`` see :func:`page`. The page shows the newest videos in the folder
    ``videos``.
    """

    def write(timeline: Timeline) -> None:
        write_whole(file, page(timeline, state, [] if videos is None else newest_videos(videos)))

    return write


def write_whole(file: Path, document: str) -> None:
    """Write ``document`` into ``file``, whole or not at all. Raises OSError."""
    # The page is declared as UTF-8, which cannot encode half of a surrogate pair.
    content = document.encode(errors="backslashreplace")
    durable_files.write(file, lambda out: out.write(content))
