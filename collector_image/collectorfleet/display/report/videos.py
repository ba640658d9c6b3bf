"""Embed videos of episodes in the page. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from collectorfleet.timeline.videos import VideoFile


def videos(shown: Sequence[VideoFile]) -> str:
    """Return a section with the videos of one version. Return "" without videos.

    A reader can close each video, because the videos never stop.
    """
    if not shown:
        return ""
    figures = "".join(map(_video, shown))
    title = f"Episodes of version {shown[0].version}"
    return f'<section><h2>{title}</h2><div class="videos">{figures}</div></section>'


def _video(one: VideoFile) -> str:
    said = escape(f"episode {one.episode + 1}, return {one.episode_return}")
    data = b64encode(one.data).decode()
    return (
        f"<details open><summary>{said}</summary>"
        f'<img alt="Video of version {one.version}, {said}" src="data:image/webp;base64,{data}"></details>'
    )
