"""Keep the frames of one episode in bounded memory. No I/O."""

from __future__ import annotations

from typing import Final

from collectorfleet.codec.video import Pixels

MOST_FRAMES: Final = 200


class Clip:
    """At most 200 frames of an episode: frames that are evenly spaced over its steps, and the last frame.

    The length of an episode is not known in advance, so the clip keeps every step at first. If there are more than 200
    frames, the clip drops every second frame. From then on, it keeps half as many steps.
    """

    def __init__(self) -> None:
        self.frames: list[Pixels] = []
        self._every = 1

    def wants(self, step: int) -> bool:
        """Return whether to keep the frame after ``step`` steps."""
        return step % self._every == 0

    def add(self, frame: Pixels) -> None:
        """Add a frame that :meth:`wants` accepts, or the last frame of the episode.

        Add frames in the order of the steps.
        """
        self.frames.append(frame)
        if len(self.frames) > MOST_FRAMES:
            # The number of frames is odd here, so the newest frame stays.
            self.frames = self.frames[::2]
            self._every *= 2
