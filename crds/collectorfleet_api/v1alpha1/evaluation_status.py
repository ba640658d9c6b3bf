"""``status.evaluation``: the newest evaluation, the best version and videos."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Count, Measured, Model, Time


class BestEvaluation(Model):
    version: Count = Field(description="Version of the weights.")
    frames: Count = Field(description="Number of frames that were handed out before this version was published.")
    return_mean: Measured = Field(description="Mean return of the episodes with that version.")


class VideoStatus(Model):
    version: int | None = Field(default=None, description="Version of the weights that the newest video shows.")
    path: str | None = Field(
        default=None,
        description=(
            "Path of the newest video in the driver's file system. Absent: there is no video, or no folder for videos."
        ),
    )
    failure: str | None = Field(default=None, description="Why a newer episode could not be recorded.")


class EvaluationStatus(Model):
    """The newest finished evaluation, and counts of all evaluations."""

    version: int | None = Field(
        default=None, description="Version of the weights that every step of the newest evaluation used."
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
    awaited_version: int | None = Field(
        default=None,
        description=(
            "The run's last version, while the driver waits for its evaluation. After the run's end: the last version, "
            "if its evaluation did not end."
        ),
    )
    finished: Count = Field(default=0, description="Number of evaluations that finished.")
    failed: Count = Field(
        default=0, description="Number of evaluations that timed out or whose returns were not finite."
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
        default=None, description="Cause of the newest failure of an evaluation or an evaluator."
    )
    summary: str | None = Field(
        default=None, description=("Mean return and standard error, for a column of `kubectl get`.")
    )
    video: VideoStatus | None = Field(
        default=None, description="Videos of episodes. Absent: the spec has no `evaluation.video`."
    )
