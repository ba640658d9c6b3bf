"""Compute where a driver begins: at frame 0, at a checkpoint, or after the frames in the output. Pure.

The number of delivered frames only grows, so the largest record is correct. Delivered frames that are in no checkpoint
and no output are lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from collectorfleet.errors import InvalidOption
from collectorfleet.run.history import RunHistory
from collectorfleet.run.position import Position
from collectorfleet_api.counts import counted


@dataclass(frozen=True)
class ResumePoint:
    """Where a driver begins. ``sentence`` gives the reason to the user.

    ``sentence`` is empty for the first driver of a run. If the replay buffer begins empty, ``buffer_frames_lost`` is
    the number of frames in the previous replay buffer. Otherwise it is 0.
    """

    position: Position
    sentence: str = ""
    buffer_frames_lost: int = 0


def resume_point(
    history: RunHistory, written: Position | None, total_frames: int | None, *, buffer_begins_empty: bool = False
) -> ResumePoint:
    """Return where the next driver of a run begins.

    ``written`` is the position of the run's output, or None if the run has no output.

    ``buffer_begins_empty`` is True if collectors write into a replay buffer that is not loaded from a checkpoint.

    Raises InvalidOption if the run is over.
    """
    checkpoint = history.checkpoint
    at_checkpoint = checkpoint.position if checkpoint else Position()
    saved = at_checkpoint if written is None else written
    position = resumed(saved, [at_checkpoint, *history.records])
    if checkpoint and checkpoint.completed and total_frames is not None and saved.frames >= total_frames:
        raise InvalidOption(
            f"collection.totalFrames is {total_frames}, but the checkpoint's run completed after {saved.frames}; "
            "raise totalFrames to continue the run, or start over with another folder for checkpoints"
        )
    sentence = _sentence(saved, position, behind_output=written is not None)
    if not buffer_begins_empty or not saved.frames:
        return ResumePoint(position, sentence)
    before = counted(saved.frames, "frame written before", "frames written before")
    lost = f"the replay buffer begins empty, without the {before}"
    return ResumePoint(position, f"{sentence}; {lost}", saved.frames)


def resumed(saved: Position, records: Iterable[Position]) -> Position:
    """Return the position of a driver that resumes from ``saved``. ``records`` has further counts of earlier drivers.

    The driver's first version is the returned version plus 1, so no version is published twice.
    """
    known = [saved, *records]
    ever = max(one.frames_ever for one in known)
    return replace(saved, version=max(one.version for one in known), frames_lost=ever - saved.frames)


def _sentence(saved: Position, position: Position, *, behind_output: bool) -> str:
    if position == Position():
        return ""
    frames_were = counted(position.frames_lost, "frame was", "frames were")
    lost = f"{frames_were} lost with earlier drivers; the next version is {position.version + 1}"
    if saved == Position():
        return f"starting over, because there is no checkpoint and no output to resume from: {lost}"
    frames = counted(saved.frames, "frame")
    where = f"after {frames} of output" if behind_output else f"from the checkpoint at {frames}"
    return f"resuming {where}: {lost}"
