"""Keep the frames of one episode in bounded memory. No I/O."""

from __future__ import annotations

from typing import Final

from collectorfleet.codec.video import Pixels

MOST_FRAMES: Final = 200


class Clip:
    """At most 200 frames of an episode: frames at equal intervals of steps, and the last frame of the episode.

    The length of an episode is not known in advance, so the clip keeps the frame of every step at first. As soon as the
    clip has more than 200 frames, it drops every second frame. From then on, the interval between kept frames is
    doubled.
    """

    def __init__(self) -> None:
        self.frames: list[Pixels] = []
        self._every = 1

    def wants(self, step: int) -> bool:
        """Return whether the clip keeps the frame after ``step`` steps."""
        return step % self._every == 0

    def add(self, frame: Pixels) -> None:
        """Add a frame that :meth:`wants` accepts, or the last frame of the episode.

        Add frames in the order of the steps.
        """
        self.frames.append(frame)
        if len(self.frames) > MOST_FRAMES:
            # The number of frames is odd here. So the slice keeps the newest frame.
            self.frames = self.frames[::2]
            self._every *= 2
