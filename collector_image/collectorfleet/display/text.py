"""Format the numbers of a driver's report as text. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from collectorfleet.display.plain import plain
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import (
    DriverReport,
    EpisodesStatus,
    EvaluationStatus,
    Progress,
    Staleness,
    WeightsStatus,
    run_progress,
)

UNKNOWN = "-"


def progress_line(report: DriverReport, elapsed_seconds: float) -> str:
    """Return one line with the progress of a run. For example:

    ``12 s  frames 20,480  1,705 frames/s  weights 9 (acknowledged 9)  staleness 0  collectors 2/2  reward 87.1``
    """
    progress, weights = report.progress or Progress(), report.weights or WeightsStatus()
    parts = [
        f"{elapsed_seconds:.0f} s",
        f"frames {frames(progress)}",
        f"{rate(progress)} frames/s",
        f"weights {number(weights.published)} (acknowledged {number(weights.acknowledged)})",
        f"staleness {staleness(weights.staleness)}",
        f"collectors {collectors(progress)}",
        *([f"return {episodes(progress.episodes)}"] if progress.episodes else []),
        *([f"evaluation {newest}"] if (newest := evaluation(report.evaluation)) else []),
        *unfinished(report),
        *(f"{name} {metric(value)}" for name, value in sorted(progress.metrics.items())),
    ]
    return plain("  ".join(parts))


def frames(progress: Progress) -> str:
    """Return the number of delivered frames, and the total if there is one: ``204,800 of 1,000,000``."""
    of_total = f" of {progress.total_frames:,}" if progress.total_frames is not None else ""
    return f"{progress.frames_delivered:,}{of_total}"


def how_far(progress: Progress) -> str:
    """Return frames, rate and remaining time: ``204,800 of 1,000,000  20%  8,210 frames/s  1m37s left``."""
    share, left = percent(progress), seconds_left(progress)
    parts = [
        frames(progress),
        *([run_progress.done_text(share)] if share is not None else []),
        f"{rate(progress)} frames/s",
        *([f"{run_progress.duration(left)} left"] if left is not None else []),
    ]
    return "  ".join(parts)


def percent(progress: Progress) -> float | None:
    """Return the delivered percentage of the requested frames, or None if the total is unknown."""
    return run_progress.percent(progress.frames_delivered, progress.total_frames)


def seconds_left(progress: Progress) -> float | None:
    """Return the seconds until the end at the rate of the last 30 s, or None if the rate or the total is unknown."""
    return run_progress.seconds_left(progress.frames_delivered, progress.total_frames, progress.frames_per_second)


def rate(progress: Progress) -> str:
    """Return the frames per second over the last 30 s, without a unit."""
    return UNKNOWN if progress.frames_per_second is None else f"{progress.frames_per_second:,.0f}"


def number(value: int | None) -> str:
    """Return a number as text, or ``-`` for None."""
    return UNKNOWN if value is None else str(value)


def staleness(seen: Staleness) -> str:
    """Return mean and largest staleness in versions, and the bound if there is one: ``0.5 (max 2) of 3``."""
    if seen.mean is None or seen.max is None:
        return UNKNOWN
    spread = f"{seen.max}" if seen.min == seen.max else f"{seen.mean:.1f} (max {seen.max})"
    return spread if seen.bound is None else f"{spread} of {seen.bound}"


def collectors(progress: Progress) -> str:
    """Return the numbers of available and of all collectors, such as ``2/2``."""
    return progress.collectors.summary if progress.collectors else UNKNOWN


def episodes(seen: EpisodesStatus) -> str:
    """Return the mean return and the mean length of episodes: ``87.1 (91 frames)``."""
    if seen.return_mean is None or seen.length_mean is None:
        return UNKNOWN
    return f"{metric(seen.return_mean)} ({counted(round(seen.length_mean), 'frame', by_thousands=True)})"


def ended(seen: EpisodesStatus) -> str:
    """Return the number of ended episodes and their means.

    For example: ``1,204 ended  return 87.1 (91 frames), mean of the last 100``
    """
    newest = f"the last {seen.averaged}" if seen.averaged < seen.ended else "all"
    return f"{seen.ended:,} ended  return {episodes(seen)}, mean of {newest}"


def evaluation(seen: EvaluationStatus | None) -> str | None:
    """Return the newest and the best result: ``471.2 ±4.1 (version 120, best 480)``. Return None without a result."""
    if seen is None or seen.summary is None:
        return None
    best = f", best {metric(seen.best.return_mean)}" if seen.best else ""
    return f"{seen.summary} (version {number(seen.version)}{best})"


def unfinished(report: DriverReport) -> list[str]:
    """Return the last version of the run if its evaluation has not ended: ``last version 124 not evaluated yet``."""
    version = report.evaluation.awaited_version if report.evaluation else None
    return [] if version is None else [f"last version {version} not evaluated yet"]


def evaluations(seen: EvaluationStatus) -> str:
    """Return the text of :func:`evaluation` with counts, the evaluators, and the newest failure if there is one.

    For example: ``471.2 ±4.1 (version 120, best 480)  12 finished  evaluators 1/1``
    """
    unsuccessful = ((seen.failed, "failed"), (seen.skipped, "skipped"))
    counts = [f"{seen.finished} finished", *(f"{count} {what}" for count, what in unsuccessful if count)]
    parts = [
        evaluation(seen) or UNKNOWN,
        ", ".join(counts),
        f"evaluators {seen.available}/{seen.replicas}",
        *([f"newest failure: {seen.last_failure}"] if seen.last_failure else []),
    ]
    return "  ".join(parts)


def metric(value: float) -> str:
    """Format a metric with four digits, so that a user can see a number change."""
    return f"{value:.4g}"


def metrics(values: Mapping[str, float]) -> str:
    """Return the names and values of metrics, in the order of their names."""
    return "  ".join(f"{name} {metric(value)}" for name, value in sorted(values.items())) or UNKNOWN
