"""Convert the state of the evaluation to the fleet's status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.evaluation.state.evaluation import EvaluationState
from collectorfleet.evaluation.state.videos import Videos
from collectorfleet_api.v1alpha1.evaluation_status import BestEvaluation, EvaluationStatus, VideoStatus

if TYPE_CHECKING:
    from collectorfleet.evaluation.loop import EvaluationLoop

_LONGEST_FAILURE: Final = 300


def evaluation_status(loop: EvaluationLoop) -> EvaluationStatus:
    """Return the present status.

    The caller must not hold the lock of the gather's state, because this function acquires the loop's lock.
    """
    with loop.changed:
        return _status(loop.state)


def result_status(result: EvaluationResult) -> EvaluationStatus:
    """Return a status that has only this result."""
    return EvaluationStatus(**_of_result(result))


def _status(state: EvaluationState) -> EvaluationStatus:
    newest, best, failure = state.newest, state.best, state.last_failure
    return EvaluationStatus(
        **({} if newest is None else _of_result(newest)),
        best=None
        if best is None
        else BestEvaluation(version=best.version, frames=best.frames, return_mean=_six_digits(best.mean)),
        running_version=state.running.candidate.version if state.running else None,
        awaited_version=state.awaited_version,
        finished=state.finished,
        failed=state.failed,
        skipped=state.skipped,
        replicas=state.plan.replicas,
        available=state.evaluators.available,
        restarts=state.evaluators.restarts,
        stopped=True if state.reached else None,
        last_failure=_shortened(failure),
        video=_of_videos(state.videos) if state.videos.is_enabled else None,
    )


def _of_videos(videos: Videos) -> VideoStatus:
    return VideoStatus(version=videos.newest[0].version if videos.newest else None, failure=_shortened(videos.failure))


def _shortened(text: str | None) -> str | None:
    return text if text is None or len(text) <= _LONGEST_FAILURE else text[: _LONGEST_FAILURE - 3] + "..."


def _of_result(result: EvaluationResult) -> dict[str, Any]:
    lower, median, upper = result.quartiles
    error = result.standard_error
    return {
        "version": result.version,
        "frames": result.frames,
        "time": result.time,
        "seconds": round(result.seconds, 3),
        "episodes": len(result.returns),
        "return_mean": _six_digits(result.mean),
        "return_standard_error": None if error is None else _six_digits(error),
        "return_min": _six_digits(min(result.returns)),
        "return_lower_quartile": _six_digits(lower),
        "return_median": _six_digits(median),
        "return_upper_quartile": _six_digits(upper),
        "return_max": _six_digits(max(result.returns)),
        "length_mean": _six_digits(result.length_mean),
        "length_min": min(result.lengths),
        "length_max": max(result.lengths),
        "summary": summary(result),
    }


def summary(result: EvaluationResult) -> str:
    """Return a short text with the mean return and its standard error, such as ``471.2 ±4.1``."""
    error = result.standard_error
    return f"{result.mean:.4g}" if error is None else f"{result.mean:.4g} ±{error:.2g}"


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")
