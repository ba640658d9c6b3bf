"""The frames of one episode in bounded memory. Pure."""

from __future__ import annotations

from typing import Final

from collectorfleet.codec.video import Pixels

MOST_FRAMES: Final = 200


class Clip:
    """At most 200 frames of an episode, evenly spaced over its steps, and the last one besides.

    Nobody knows beforehand how long an episode will be. So each step is kept at first. Whenever there are too many
    frames, every second one is dropped, and from then on half as many steps are kept.
    """

    def __init__(self) -> None:
        self.frames: list[Pixels] = []
        self._every = 1

    def wants(self, step: int) -> bool:
        """Return whether the frame after ``step`` steps is kept."""
        return step % self._every == 0

    def add(self, frame: Pixels) -> None:
        """Keep a frame: one that is wanted, in the order of the steps, or the last one of the episode."""
        self.frames.append(frame)
        if len(self.frames) > MOST_FRAMES:
            # Their number is odd here, so the newest frame stays.
            self.frames = self.frames[::2]
            self._every *= 2
