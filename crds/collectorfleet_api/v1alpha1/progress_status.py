"""``status.progress``: frames, batches, episodes and metrics of a run."""

from __future__ import annotations

from math import isfinite
from typing import Annotated

from pydantic import Field, PlainSerializer

from collectorfleet_api.v1alpha1.base import Count, Measured, Model, Time
from collectorfleet_api.v1alpha1.collectors_status import CollectorCounts

# JSON has no NaN, so metrics that are not finite are omitted. The driver's log has them.
Metrics = Annotated[
    dict[str, Annotated[float, Field(allow_inf_nan=True)]],
    PlainSerializer(lambda metrics: {k: v for k, v in metrics.items() if isfinite(v)}, when_used="json"),
]


class EpisodesStatus(Model):
    ended: Count = Field(default=0, description="Number of episodes that ended in frames that this driver received.")
    averaged: Count = Field(
        default=0,
        description=("The means, `returnMin` and `returnMax` cover this many of the newest episodes, at most 100."),
    )
    return_mean: Measured | None = Field(
        default=None,
        description=(
            'Mean return of these episodes. A return is the sum of `("next", "reward")`, after the collectors have '
            "applied transforms."
        ),
    )
    return_min: Measured | None = Field(default=None, description="Smallest return of these episodes.")
    return_max: Measured | None = Field(default=None, description="Largest return of these episodes.")
    length_mean: Measured | None = Field(default=None, description="Mean length of these episodes, in frames.")


class Progress(Model):
    frames_collected: Count = Field(default=0, description="Number of frames received from collectors.")
    frames_delivered: Count = Field(default=0, description="Number of frames handed out.")
    frames_discarded: Count = Field(
        default=0,
        description=(
            "Frames that this driver received but did not hand out. They arrived too late, for example from a retired "
            "collector, or after the end of the run."
        ),
    )
    frames_lost: Count = Field(
        default=0,
        description=(
            "Number of lost frames. Earlier drivers handed out these frames, but the next driver resumed "
            "at an earlier point. No other field counts these frames."
        ),
    )
    replay_buffer_frames_lost: Count = Field(
        default=0,
        description=(
            "Number of frames in `framesDelivered` that a replay buffer lost. The buffer ended with the previous "
            "driver, and the buffer of this driver began empty."
        ),
    )
    total_frames: int | None = Field(
        default=None, description="Number of frames to hand out. Absent: there is no limit."
    )
    summary: str | None = Field(
        default=None,
        description="Percent of `totalFrames`, and the time left at the current rate, for a column of `kubectl get`.",
    )
    batches: Count = Field(default=0, description="Number of batches handed out.")
    entries_pickled: Count = Field(
        default=0, description="Number of batch entries that were pickled because they do not fit into an array."
    )
    spilled_bytes: Count | None = Field(
        default=None,
        description=(
            "Bytes that Ray's object stores have moved to disk, read every 10 s. If this number is above 0, batches "
            "or weights are too large for the memory of the pods."
        ),
    )
    frames_per_second: Measured | None = Field(
        default=None, description="Frames handed out per second, over the last 30 s."
    )
    driver_idle_ratio: Measured | None = Field(
        default=None, description="Share of the time in which the driver waited for data."
    )
    collector_idle_ratio: Measured | None = Field(
        default=None, description="Share of the time in which collectors had no request."
    )
    last_batch_time: Time | None = Field(default=None, description="When the newest batch was handed out.")
    episodes: EpisodesStatus | None = Field(
        default=None,
        description=(
            "Returns and lengths of ended episodes. Absent: no episode has ended yet, or frames have no single "
            "reward, done or trajectory, for example with several agents."
        ),
    )
    metrics: Metrics = Field(default_factory=dict, description="Newest values from the training function.")
    collectors: CollectorCounts | None = Field(default=None, description="Counts of collectors.")
