"""Texts of conditions about the evaluations of a run: at its end, and after its end."""

from __future__ import annotations

from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1.progress_status import Progress
from collectorfleet_api.v1alpha1.report import DriverReport


def describe_last_evaluation(report: DriverReport | None, *, why_not_ready: str, most_seconds: float) -> str:
    """Return in words that the driver waits for the last evaluation, or an empty text if it does not wait.

    ``why_not_ready`` explains why the pods of evaluators are not ready. If it is empty, the text has the newest failure
    of the report. ``most_seconds`` is the longest time that the driver waits for an evaluator.
    """
    seen = report.evaluation if report else None
    if report is None or seen is None or seen.awaited_version is None or report.driver_ended:
        return ""
    collected = "all frames are collected" if _has_all_frames(report.progress) else "collection has ended"
    text = f"{collected}, and the driver waits for the evaluation of the last version, {seen.awaited_version}"
    if seen.available:
        return text
    why = why_not_ready or seen.last_failure
    return (
        f"{text}; no evaluator is ready{f': {why}' if why else ''}; the driver waits at most {most_seconds:g} s for an "
        "evaluator (collectors.firstRequestTimeoutSeconds)"
    )


def _has_all_frames(progress: Progress | None) -> bool:
    if progress is None or progress.total_frames is None:
        return False
    return progress.frames_delivered >= progress.total_frames


def describe_unfinished_evaluations(report: DriverReport | None, *, has_goal: bool) -> str:
    """Return which due evaluations of a completed run did not finish, or an empty text if the last one finished.

    ``has_goal``: whether the spec has ``evaluation.stopWhen``.
    """
    seen = report.evaluation if report else None
    if seen is None:
        return ""
    due = seen.finished + seen.failed + seen.skipped + (seen.awaited_version is not None)
    if due and not seen.finished:
        untested = ", so stopWhen was not tested" if has_goal else ""
        return f"0 of {counted(due, 'due evaluation')} finished{untested}"
    if seen.awaited_version is not None:
        return f"the last version, {seen.awaited_version}, was not evaluated"
    published = report.weights.published if report and report.weights else None
    # The failure of an evaluation begins with the version, and other failures with the name of an evaluator.
    failure = (seen.last_failure or "").partition(f"version {published}: ")
    if failure[1] and not failure[0] and seen.version != published:
        return f"the last version, {published}, was not evaluated: {failure[2]}"
    return ""
