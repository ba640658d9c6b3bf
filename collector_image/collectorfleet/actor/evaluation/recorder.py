"""Record the first episodes of a rollout. If recording fails, the episodes continue without a video."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray
from tensordict import TensorDictBase

from collectorfleet.actor.evaluation.clip import Clip
from collectorfleet.actor.evaluation.frames import CannotRender, Frames
from collectorfleet.actor.seeds import unchanged_generators
from collectorfleet.codec.video import encode
from collectorfleet.errors import describe
from collectorfleet.messages import Recorded


class EpisodeRecorder:
    """Records the episodes of the first ``count`` environments of a batch in one rollout.

    If rendering takes longer than ``most_seconds`` in total, the episodes continue without a video.
    """

    def __init__(self, frames: Frames, count: int, most_seconds: float) -> None:
        self._frames = frames
        self._most_seconds = most_seconds
        self._seconds = 0.0
        self._clips = [Clip() for _ in range(count)]
        self._recording = set(range(count))
        self._step = 0
        self._failure: str | None = None

    def see(self, observed: TensorDictBase, running: NDArray[np.bool_]) -> None:
        """Record the present frames of the environments. Call this after each reset and each step.

        ``running`` is bool ``[environments]``. True: the episode of this environment continues. If an episode has just
        ended, its present frame is the last frame of its video.
        """
        if not self._recording:
            return
        step, self._step = self._step, self._step + 1
        ended = {row for row in self._recording if not running[row]}
        rows = [row for row in sorted(self._recording) if row in ended or self._clips[row].wants(step)]
        self._recording -= ended
        if not rows:
            return
        began = time.monotonic()
        try:
            # Rendering must not change the result of an episode, even if the renderer draws random numbers.
            with unchanged_generators():
                frames = self._frames.now(observed, rows)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (a renderer may raise any error)
            self._fail(error)
            return
        for row, frame in zip(rows, frames, strict=True):
            self._clips[row].add(frame)
        self._seconds += time.monotonic() - began
        if self._recording and self._seconds > self._most_seconds:
            self._fail(_too_slow(step + 1, self._seconds, self._most_seconds))

    def recorded(self) -> Recorded:
        """Return the video files, or the reason why there are no videos.

        Blocks for about a second to encode the videos.
        """
        if self._failure is None:
            try:
                return Recorded(tuple(encode(clip.frames) for clip in self._clips))
            except Exception as error:  # noqa: BLE001  (such as frames of different sizes)
                self._fail(error)
        return Recorded(failure=self._failure)

    def _fail(self, error: BaseException) -> None:
        self._failure = str(error) if isinstance(error, CannotRender) else f"render() failed: {describe(error)}"
        self._recording.clear()
        self._clips.clear()


def _too_slow(steps: int, seconds: float, most_seconds: float) -> CannotRender:
    return CannotRender(
        f"rendering the first {steps} steps of an episode took {seconds:.3g} s (limit: {most_seconds:.3g} s); "
        "make frames smaller, record fewer episodes, or raise the evaluation's timeout"
    )
