"""The numbers in a healthy driver's report that trigger no reconcile, such as frame counts. Pure.

A thousand drivers together write a hundred reports a second, and a reconcile takes milliseconds. So the operator
compares two versions of a healthy fleet without these numbers. Some decisions depend on one of these numbers, for
example on the age of the last batch. Such a decision has a deadline that triggers a reconcile. Only messages about
unhealthy fleets contain such numbers.

This module lists the fields to leave out. A field that this release does not know triggers a reconcile.
"""

from __future__ import annotations

from typing import Any, Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import ConditionType, Phase
from collectorfleet_operator.objects import Object, has_condition, metadata

_PROGRESS: Final = (
    *("framesCollected", "framesDelivered", "framesDiscarded", "framesPerSecond", "summary", "entriesPickled"),
    *("driverIdleRatio", "collectorIdleRatio", "spilledBytes", "episodes", "metrics"),
)
_WEIGHTS: Final = ("digest", "bytes", "lastPublishSeconds", "publishes", "publishLag")
_COLLECTOR: Final = ("appliedVersion", "batches", "frames")
_CHECKPOINT: Final = ("frames", "time")


def without_routine_numbers(fleet: Object) -> Object:
    """Return a healthy stored fleet without its driver's routine numbers, or any other fleet unchanged."""
    status: Object = fleet.get("status") or {}
    if not _is_as_it_should_be(fleet, status):
        return fleet
    kept = {
        **status,
        "progress": _progress(status.get("progress") or {}),
        "weights": _weights(status.get("weights") or {}),
        "checkpoint": _without(status.get("checkpoint") or {}, _CHECKPOINT),
        "evaluation": _evaluation(status.get("evaluation") or {}),
        "environmentParameters": None,
        "collectors": sorted(
            (_without(one, _COLLECTOR) for one in status.get("collectors") or []), key=lambda one: str(one["name"])
        ),
    }
    return {**fleet, "metadata": _without_time_of_report(metadata(fleet)), "status": kept}


def _is_as_it_should_be(fleet: Object, status: Object) -> bool:
    reconciling = {one["type"]: one["status"] for one in status.get("conditions") or []}.get(ConditionType.RECONCILING)
    return (
        status.get("phase") == Phase.COLLECTING
        and reconciling == "False"
        and not has_condition(fleet, ConditionType.STALLED)
        and has_condition(fleet, ConditionType.WEIGHTS_FRESH)
        and status.get("observedGeneration") == metadata(fleet).get("generation")
    )


def _progress(progress: Object) -> Object:
    # Only the first batch matters here, because a new start would lose progress. Deadlines read the last batch's time.
    seen = {"batches": bool(progress.get("batches")), "lastBatchTime": "lastBatchTime" in progress}
    return {**_without(progress, _PROGRESS), **seen}


def _weights(weights: Object) -> Object:
    """Replace versions by facts, such as whether a version is published or failed, or whether a batch is too stale."""
    published, acknowledged = weights.get("published"), weights.get("acknowledged")
    staleness, failure = weights.get("staleness") or {}, weights.get("lastFailure")
    bound, stalest = staleness.get("bound"), staleness.get("max")
    is_too_stale = bound is not None and stalest is not None and stalest > bound
    facts = {
        "published": published is not None,
        "acknowledged": acknowledged is not None,
        "allAcknowledged": published == acknowledged,
        "lastPublishTime": "lastPublishTime" in weights,
        "staleness": {"bound": bound, "max": stalest if is_too_stale else None},
        "lastFailure": failure if failure is not None and failure["version"] > (acknowledged or 0) else None,
    }
    return {**_without(weights, _WEIGHTS), **facts}


def _evaluation(evaluation: Object) -> Object | None:
    """Return what Ready says while the driver waits for its last evaluation, or None at any other time."""
    awaited = evaluation.get("awaitedVersion")
    if awaited is None:
        return None
    failure = evaluation.get("lastFailure")
    return {"awaitedVersion": awaited, "available": bool(evaluation.get("available")), "lastFailure": failure}


def _without_time_of_report(meta: Object) -> Object:
    writers = meta.get("managedFields") or []
    by_driver = [_without(one, ("time",)) if one.get("manager") == names.DRIVER_MANAGER else one for one in writers]
    return {**meta, "managedFields": by_driver}


def _without(of: Object, fields: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in of.items() if key not in fields}
