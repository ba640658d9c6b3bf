"""The part of ``status`` that the driver writes: :class:`DriverReport`. Unknown values are absent."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import isfinite
from typing import Annotated

from pydantic import Field, PlainSerializer

from collectorfleet_api.v1alpha1.base import Count, Measured, Model, Time
from collectorfleet_api.v1alpha1.types import BY_NAME, Preserved


class Publishes(Model):
    attempted: Count = Field(default=0, description="Number of published versions.")
    succeeded: Count = Field(
        default=0,
        description="Number of versions that every available collector acknowledged, directly or with a newer version.",
    )
    partial: Count = Field(default=0, description="Number of versions that some collector failed to apply.")
    failed: Count = Field(default=0, description="Number of versions that no collector could apply.")


class PublishLag(Model):
    """The number of versions by which collectors are behind the published version."""

    max: Count = Field(description="Largest lag of an available collector.")
    mean: Measured = Field(ge=0, description="Mean lag of the available collectors.")


class Staleness(Model):
    """Staleness of the last 100 batches handed out, in versions."""

    bound: int | None = Field(default=None, description="The staleness bound in force. Absent: there is no bound.")
    min: int | None = Field(default=None, description="Least staleness.")
    mean: Measured | None = Field(default=None, description="Mean staleness.")
    max: int | None = Field(default=None, description="Largest staleness.")
    throttled_seconds: Measured = Field(
        default=0.0, ge=0, description="Seconds in which the bound delayed finished batches or kept collectors idle."
    )


class WeightsFailure(Model):
    collector: str = Field(description="The collector that failed to apply weights.")
    version: int = Field(description="The version that could not be applied.")
    time: Time = Field(description="When the collector failed to apply weights.")
    reason: str = Field(description="One PascalCase word.")
    message: str = Field(description="The original error text.")


class WeightsStatus(Model):
    published: int | None = Field(default=None, description="Newest version offered to the collectors.")
    acknowledged: int | None = Field(
        default=None,
        description=(
            "Lowest version that an available collector has acknowledged. Absent: the version of an available "
            "collector is unknown."
        ),
    )
    digest: str | None = Field(default=None, description="Digest of the published tensors.")
    bytes: int | None = Field(default=None, description="Size of the published tensors in bytes.")
    last_publish_time: Time | None = Field(default=None, description="When the newest version was published.")
    last_publish_seconds: Measured | None = Field(
        default=None, description="Seconds that the driver took to compute the digest and to store the version."
    )
    transport: str | None = Field(default=None, description="How the driver sends weights.")
    publishes: Publishes = Field(default_factory=Publishes, description="Counts of publishes by result.")
    publish_lag: PublishLag | None = Field(default=None, description="How far collectors are behind.")
    staleness: Staleness = Field(default_factory=Staleness, description="Staleness of batches.")
    last_failure: WeightsFailure | None = Field(default=None, description="The newest failure to apply weights.")


class GroupCounts(Model):
    name: str = Field(description="Name of the group.")
    desired: Count = Field(description="Number of requested collectors.")
    available: Count = Field(description="Number of collectors with acknowledged weights.")


def groups_summary(groups: Sequence[GroupCounts]) -> str | None:
    """Return text for the column, such as ``fast 8/8, big 3/4``, or None without groups."""
    return ", ".join(f"{one.name} {one.available}/{one.desired}" for one in groups) or None


class CollectorCounts(Model):
    desired: Count = Field(description="Number of requested collectors.")
    available: Count = Field(description="Number of collectors with acknowledged weights.")
    restarts: Count = Field(default=0, description="Number of restarts of collectors after a loss.")
    summary: str = Field(description="available/desired, for a column of `kubectl get`.")
    groups: list[GroupCounts] = Field(
        default_factory=list,
        description="These counts for each of `spec.collectors.groups`.",
        json_schema_extra=BY_NAME,
    )
    groups_summary: str | None = Field(
        default=None,
        description=(
            "available/desired of each group, for a column of `kubectl get -o wide`. Absent: there are no groups."
        ),
    )


# JSON has no NaN, so metrics that are not finite are omitted. The driver's log has them.
Metrics = Annotated[
    dict[str, Annotated[float, Field(allow_inf_nan=True)]],
    PlainSerializer(lambda metrics: {k: v for k, v in metrics.items() if isfinite(v)}, when_used="json"),
]


class EpisodesStatus(Model):
    ended: Count = Field(default=0, description="Number of episodes that ended in frames of this driver.")
    averaged: Count = Field(
        default=0,
        description=("Number of newest episodes that the means, `returnMin` and `returnMax` cover, at most 100."),
    )
    return_mean: Measured | None = Field(
        default=None,
        description=(
            'Mean return of these episodes. A return is the sum of `("next", "reward")` after the transforms of the '
            "collectors."
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
            "Frames that this driver collected and did not hand out. They arrived too late, for example from a "
            "retired collector, or after the end of the run."
        ),
    )
    frames_lost: Count = Field(
        default=0,
        description=(
            "Frames that lost drivers handed out after their last checkpoint. No other field counts these frames."
        ),
    )
    replay_buffer_frames_lost: Count = Field(
        default=0,
        description=(
            "Part of `framesDelivered` that a replay buffer lost. The buffer ended with the previous driver, and "
            "the buffer of this driver began empty."
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


class PolicyStaleness(Model):
    """Staleness of the frames that a policy learns from, in versions of the policy."""

    min: Count = Field(description="Least staleness.")
    mean: Measured = Field(ge=0, description="Mean staleness.")
    max: Count = Field(description="Largest staleness.")


class LearnerPolicyStatus(Model):
    id: str = Field(description="Id of the policy, from `spec.learners.policies`.")
    shard: Count = Field(description="Index of the policy's shard, from 0.")
    published: int | None = Field(
        default=None,
        description=("Newest version of the policy. The number begins at 1 and increases only if the policy changed."),
    )
    acknowledged: int | None = Field(
        default=None,
        description=(
            "Lowest version of the policy that an available collector has acknowledged. Absent: the version of an "
            "available collector is unknown."
        ),
    )
    publish_lag: Count | None = Field(
        default=None, description="Number of versions by which the slowest collector is behind."
    )
    frames: Count = Field(description="Number of frames in the policy's buffer that have a version.")
    staleness: PolicyStaleness | None = Field(
        default=None, description=("Staleness of these frames, in versions of the policy. Absent: there are no frames.")
    )
    steps: Count | None = Field(
        default=None,
        description=("Number of calls of `learn` of the policy's learner, including calls before the last checkpoint."),
    )


class LearnersStatus(Model):
    shards: Count = Field(description="Number of shards. Each shard is in one pod.")
    places: Count = Field(description="Number of places in all shards. Each place has room for one policy.")
    used: Count = Field(description="Number of places that policies use.")
    gpu_per_policy: float | None = Field(
        default=None, description="Share of a GPU that each policy gets. Absent: policies have no GPU."
    )
    policies: list[LearnerPolicyStatus] = Field(
        default_factory=list,
        description="State of each policy at the end of the newest batch.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
    )


class BestEvaluation(Model):
    version: Count = Field(description="Version of the weights.")
    frames: Count = Field(description="Number of frames that were handed out before this version was published.")
    return_mean: Measured = Field(description="Mean return of the episodes with that version.")


class VideoStatus(Model):
    version: int | None = Field(default=None, description="Version of the weights in the newest video.")
    path: str | None = Field(
        default=None,
        description=(
            "Path of the newest video in the driver's file system. Absent: there is no video, or no folder for videos."
        ),
    )
    failure: str | None = Field(default=None, description="Why a newer episode could not be recorded.")


class EvaluationStatus(Model):
    """The newest finished evaluation, and counts of all of them."""

    version: int | None = Field(
        default=None, description="Version of the weights that the newest evaluation used in all of its steps."
    )
    frames: int | None = Field(
        default=None, description="Number of frames that were handed out before this version was published."
    )
    time: Time | None = Field(default=None, description="When the newest evaluation ended.")
    seconds: Measured | None = Field(default=None, description="Seconds that the newest evaluation took.")
    episodes: int | None = Field(default=None, description="Number of episodes that the newest evaluation played.")
    return_mean: Measured | None = Field(default=None, description="Mean return of these episodes.")
    return_standard_error: Measured | None = Field(
        default=None, description="Standard error of `returnMean`. Absent: there was one episode."
    )
    return_min: Measured | None = Field(default=None, description="The smallest return.")
    return_lower_quartile: Measured | None = Field(
        default=None, description="25 % of the returns are below this number."
    )
    return_median: Measured | None = Field(default=None, description="The median return.")
    return_upper_quartile: Measured | None = Field(
        default=None, description="75 % of the returns are below this number."
    )
    return_max: Measured | None = Field(default=None, description="The largest return.")
    length_mean: Measured | None = Field(default=None, description="Mean length of the episodes, in frames.")
    length_min: int | None = Field(default=None, description="Length of the shortest episode, in frames.")
    length_max: int | None = Field(default=None, description="Length of the longest episode, in frames.")
    best: BestEvaluation | None = Field(default=None, description="The version with the highest mean return.")
    running_version: int | None = Field(
        default=None, description="Version that is being evaluated. Absent: evaluators wait for a version."
    )
    finished: Count = Field(default=0, description="Number of evaluations that finished.")
    failed: Count = Field(
        default=0, description="Number of evaluations that ran out of time, or whose returns are not finite."
    )
    skipped: Count = Field(
        default=0,
        description="Number of due versions that were not evaluated because a newer version became due first.",
    )
    replicas: Count = Field(default=0, description="Number of evaluators, from `spec.evaluation`.")
    available: Count = Field(default=0, description="Number of evaluators that have built their environment.")
    restarts: Count = Field(default=0, description="Number of restarts of evaluators.")
    stopped: bool | None = Field(default=None, description="True: the run ended because `stopWhen` was reached.")
    last_failure: str | None = Field(
        default=None, description="Newest cause of a failed evaluation or a lost evaluator."
    )
    summary: str | None = Field(
        default=None, description=("Mean return and standard error, for a column of `kubectl get`.")
    )
    video: VideoStatus | None = Field(
        default=None, description="Videos of episodes. Absent: the spec has no `evaluation.video`."
    )


class ParametersOf(Model):
    name: str = Field(description="Name of the group, or of the collector.")
    values: Preserved = Field(
        default_factory=dict, description="Parameters that were set only for this group or collector."
    )


class EnvironmentParametersStatus(Model):
    """The current parameters of the collectors' environments."""

    version: Count = Field(
        default=0,
        description=(
            "Number of times that parameters were set. It is 0 while environments have the parameters from their "
            "factory."
        ),
    )
    values: Preserved = Field(default_factory=dict, description="The parameters of all collectors.")
    groups: list[ParametersOf] = Field(
        default_factory=list, description="Parameters of single groups.", json_schema_extra=BY_NAME
    )
    collectors: list[ParametersOf] = Field(
        default_factory=list,
        description="Parameters of single collectors, at most 100.",
        json_schema_extra=BY_NAME,
    )
    applied: Count = Field(
        default=0, description="Number of available collectors whose environments all have the newest parameters."
    )


class CheckpointStatus(Model):
    frames: Count = Field(description="Number of frames that were handed out before the newest checkpoint.")
    time: Time | None = Field(default=None, description="When the newest checkpoint was written.")
    failure: str | None = Field(default=None, description="Why a newer checkpoint could not be written.")


class CollectorState(StrEnum):
    STARTING = "Starting"
    JOINING = "Joining"
    READY = "Ready"
    RETIRED = "Retired"
    FAILED = "Failed"


class CollectorStatus(Model):
    name: str = Field(description="Name of the collector: c0, c1, ...")
    group: str | None = Field(default=None, description="Group of the collector, from `spec.collectors.groups`.")
    state: CollectorState = Field(
        description="Starting, Joining (no acknowledged weights yet), Ready, Retired or Failed."
    )
    pod: str | None = Field(default=None, description="Pod (or host) that the collector runs in.")
    rollout: str | None = Field(
        default=None,
        description=(
            "The loop that steps the environments now, see `collection.rollout`: `Fast`, `Fast, with tensors on "
            "DEVICE`, `Fast, by the environment's own step: reason`, `TorchRL: reason`, or `TorchRL` if the spec "
            "requests TorchRL's loop."
        ),
    )
    applied_version: int | None = Field(default=None, description="Newest version that the collector acknowledged.")
    batches: Count = Field(default=0, description="Number of requests that the collector answered.")
    frames: Count = Field(default=0, description="Number of frames that the collector produced.")
    restarts: Count = Field(default=0, description="Number of restarts of the collector.")
    last_error: str | None = Field(default=None, description="The original text of the newest error.")


class DriverReport(Model):
    """The fields that the driver writes, by server-side apply as `collectorfleet-driver`."""

    fleet_uid: str | None = Field(
        default=None,
        alias="fleetUID",
        description="UID of the fleet. The operator ignores reports with another UID.",
    )
    driver_incarnation: int | None = Field(
        default=None,
        description="Number of the reporting driver. The fleet's first driver has number 1, and each start adds 1.",
    )
    driver_ended: bool | None = Field(
        default=None,
        description="True: the driver has ended its collectors, and this report is the driver's last report.",
    )
    weights: WeightsStatus | None = Field(default=None, description="The state of the weights.")
    progress: Progress | None = Field(default=None, description="The state of the collection.")
    checkpoint: CheckpointStatus | None = Field(
        default=None,
        description="The newest checkpoint. Absent: there is no checkpoint yet, or no `driver.checkpoint` in the spec.",
    )
    learners: LearnersStatus | None = Field(
        default=None,
        description=(
            "The policies of `spec.learners`. Absent: the spec has no learners, or the learners have not started yet."
        ),
    )
    evaluation: EvaluationStatus | None = Field(
        default=None, description="The results of `spec.evaluation`. Absent: the spec has no evaluation."
    )
    environment_parameters: EnvironmentParametersStatus | None = Field(
        default=None, description="Parameters of the environments. Absent: the environments accept no new parameters."
    )
    collectors: list[CollectorStatus] = Field(
        default_factory=list,
        description="State of at most 100 collectors, the worst first.",
        json_schema_extra=BY_NAME,
    )
    drained_pods: list[str] = Field(
        default_factory=list,
        max_length=1000,
        description="Worker pods whose collectors have all ended.",
    )
