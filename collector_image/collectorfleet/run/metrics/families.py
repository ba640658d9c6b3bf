"""Convert the driver's report into Prometheus metrics. Each metric is a status field, with its value and description.

The metrics come from the same report as the status in the API server, so metrics and status agree. Unknown values have
no metric. No I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from collectorfleet_api.v1alpha1 import DriverReport
from collectorfleet_api.v1alpha1.base import Model, inner_model

PREFIX: Final = "collectorfleet_"

# The field below `status` for each metric. The Prometheus client adds the suffix `_total` to counters. After a restart
# of the driver, a counter begins at 0 or at its value in the checkpoint.
COUNTERS: Final = {
    "weights_publishes_attempted": "weights.publishes.attempted",
    "weights_publishes_succeeded": "weights.publishes.succeeded",
    "weights_publishes_partial": "weights.publishes.partial",
    "weights_publishes_failed": "weights.publishes.failed",
    "throttled_seconds": "weights.staleness.throttledSeconds",
    "frames_collected": "progress.framesCollected",
    "frames_delivered": "progress.framesDelivered",
    "frames_discarded": "progress.framesDiscarded",
    "frames_lost": "progress.framesLost",
    "batches": "progress.batches",
    "episodes": "progress.episodes.ended",
    "entries_pickled": "progress.entriesPickled",
    "collector_restarts": "progress.collectors.restarts",
    "evaluations_finished": "evaluation.finished",
    "evaluations_failed": "evaluation.failed",
    "evaluations_skipped": "evaluation.skipped",
    "evaluator_restarts": "evaluation.restarts",
}
GAUGES: Final = {
    "spilled_bytes": "progress.spilledBytes",
    "driver_incarnation": "driverIncarnation",
    "weights_published_version": "weights.published",
    "weights_acknowledged_version": "weights.acknowledged",
    "weights_bytes": "weights.bytes",
    "weights_last_publish_timestamp_seconds": "weights.lastPublishTime",
    "weights_last_publish_seconds": "weights.lastPublishSeconds",
    "weights_publish_lag_max_versions": "weights.publishLag.max",
    "weights_publish_lag_mean_versions": "weights.publishLag.mean",
    "staleness_bound_versions": "weights.staleness.bound",
    "staleness_min_versions": "weights.staleness.min",
    "staleness_mean_versions": "weights.staleness.mean",
    "staleness_max_versions": "weights.staleness.max",
    "replay_buffer_frames_lost": "progress.replayBufferFramesLost",
    "episodes_averaged": "progress.episodes.averaged",
    "episode_return_mean": "progress.episodes.returnMean",
    "episode_return_min": "progress.episodes.returnMin",
    "episode_return_max": "progress.episodes.returnMax",
    "episode_length_mean": "progress.episodes.lengthMean",
    "frames_target": "progress.totalFrames",
    "frames_per_second": "progress.framesPerSecond",
    "driver_idle_ratio": "progress.driverIdleRatio",
    "collector_idle_ratio": "progress.collectorIdleRatio",
    "last_batch_timestamp_seconds": "progress.lastBatchTime",
    "collectors_desired": "progress.collectors.desired",
    "collectors_available": "progress.collectors.available",
    "evaluation_return_mean": "evaluation.returnMean",
    "evaluation_return_standard_error": "evaluation.returnStandardError",
    "evaluation_return_min": "evaluation.returnMin",
    "evaluation_return_lower_quartile": "evaluation.returnLowerQuartile",
    "evaluation_return_median": "evaluation.returnMedian",
    "evaluation_return_upper_quartile": "evaluation.returnUpperQuartile",
    "evaluation_return_max": "evaluation.returnMax",
    "evaluation_length_mean": "evaluation.lengthMean",
    "evaluation_length_min": "evaluation.lengthMin",
    "evaluation_length_max": "evaluation.lengthMax",
    "evaluation_version": "evaluation.version",
    "evaluation_frames": "evaluation.frames",
    "evaluation_timestamp_seconds": "evaluation.time",
    "evaluation_seconds": "evaluation.seconds",
    "evaluation_episodes": "evaluation.episodes",
    "evaluation_best_version": "evaluation.best.version",
    "evaluation_best_frames": "evaluation.best.frames",
    "evaluation_best_return_mean": "evaluation.best.returnMean",
    "evaluation_running_version": "evaluation.runningVersion",
    "evaluation_awaited_version": "evaluation.awaitedVersion",
    "environment_parameters_version": "environmentParameters.version",
    "environment_parameters_applied": "environmentParameters.applied",
    "evaluators_desired": "evaluation.replicas",
    "evaluators_available": "evaluation.available",
    "learner_shards": "learners.shards",
    "learner_places": "learners.places",
    "learner_places_used": "learners.used",
    "learner_gpu_per_policy": "learners.gpuPerPolicy",
    "checkpoint_frames": "checkpoint.frames",
    "checkpoint_timestamp_seconds": "checkpoint.time",
}
# For each metric with a label `group`, the field in the entries of `progress.collectors.groups`. These metrics have
# other names than the fleet's totals, so that a sum over all series counts each collector once.
OF_GROUPS: Final = {"group_collectors_desired": "desired", "group_collectors_available": "available"}
GROUPS: Final = "progress.collectors.groups"
REPORTED: Final = "reported"


class ReportCollector(Collector):
    """A Prometheus collector that calls ``report`` at each scrape. ``fleet`` is a label of each metric."""

    def __init__(self, fleet: str, report: Callable[[], DriverReport]) -> None:
        self._fleet = fleet
        self._report = report

    def describe(self) -> list[Metric]:
        return []  # so that the registry does not call `collect` when this collector is registered

    def collect(self) -> Iterator[Metric]:
        return families(self._fleet, self._report())


def families(fleet: str, report: DriverReport) -> Iterator[Metric]:
    """Yield the metrics of one report."""
    status = report.to_wire()
    for metrics, family in ((COUNTERS, CounterMetricFamily), (GAUGES, GaugeMetricFamily)):
        for name, path in metrics.items():
            value = _value(status, path)
            if value is not None:
                found = family(PREFIX + name, description(path), labels=["fleet"])
                found.add_metric([fleet], value)
                yield found
    yield from _of_groups(fleet, _at(status, GROUPS) or [])
    reported = GaugeMetricFamily(PREFIX + REPORTED, description("progress.metrics"), labels=["fleet", "name"])
    for name, value in status.get("progress", {}).get("metrics", {}).items():
        reported.add_metric([fleet, name], value)
    yield reported


def _of_groups(fleet: str, groups: list[dict[str, Any]]) -> Iterator[Metric]:
    for name, field in OF_GROUPS.items():
        family = GaugeMetricFamily(PREFIX + name, description(f"{GROUPS}.{field}"), labels=["fleet", "group"])
        for group in groups:
            family.add_metric([fleet, group["name"]], group[field])
        yield family


def description(path: str) -> str:
    """Return the description of the status field at ``path``. The reference page has the same description."""
    model: type[Model] | None = DriverReport
    field = None
    for name in path.split("."):
        if model is None:
            raise KeyError(path)
        field = next(one for one in model.model_fields.values() if one.alias == name)
        model = inner_model(field.annotation)
    return (field and field.description) or ""


def _value(status: dict[str, Any], path: str) -> float | None:
    found = _at(status, path)
    if found is None:
        return None
    return datetime.fromisoformat(found).timestamp() if isinstance(found, str) else float(found)


def _at(status: dict[str, Any], path: str) -> Any:
    """Return the field of the status at ``path``, or None if it is absent."""
    found: Any = status
    for name in path.split("."):
        found = found.get(name)
        if found is None:
            return None
    return found
