"""Where a driver begins: at the start, from a checkpoint, or behind what is in the output. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from collectorfleet.errors import InvalidOption
from collectorfleet.run.checkpoint.checkpoint import Checkpoint
from collectorfleet.run.position import Position, resumed


@dataclass(frozen=True)
class Beginning:
    """``sentence`` tells people of it; empty for the first driver of a run."""

    position: Position
    sentence: str = ""


def beginning(
    checkpoint: Checkpoint | None, written: Position | None, records: Iterable[Position], total_frames: int | None
) -> Beginning:
    """Where the next driver of a run begins.

    ``written`` is what the output holds, of a run that has one; ``records`` tell how far earlier drivers were. Raises
    InvalidOption if the run is over.
    """
    saved = written or (checkpoint.position if checkpoint else Position())
    position = resumed(saved, [*records, *([checkpoint.position] if checkpoint else [])])
    if checkpoint and checkpoint.completed and total_frames is not None and saved.frames >= total_frames:
        raise InvalidOption(
            f"collection.totalFrames is {total_frames}, and the checkpoint is of a run that completed after "
            f"{saved.frames}: raise totalFrames to go on with it, or start over with another folder for checkpoints"
        )
    if position == Position():
        return Beginning(position)
    lost = f"{position.frames_lost} frames were lost with earlier drivers; the next version is {position.version + 1}"
    if saved == Position():
        return Beginning(position, f"starting over, there is nothing to go on from: {lost}")
    where = "behind the output's" if written else "from the checkpoint at"
    return Beginning(position, f"going on {where} {saved.frames} frames: {lost}")
