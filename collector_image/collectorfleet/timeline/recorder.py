"""Build the timeline of a run from its driver's reports. Pure: the caller passes the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from collectorfleet.timeline.configuration import Configuration, changed_fields
from collectorfleet.timeline.evaluations import Evaluations
from collectorfleet.timeline.points import Points
from collectorfleet.timeline.timeline import Earlier, RunEvent, Span, Timeline
from collectorfleet_api.v1alpha1 import CollectorStatus, DriverReport, EvaluationStatus

MOST_SPANS: Final = 40  # of one collector
MOST_HAPPENED: Final = 200
MOST_LIVES: Final = 100
MOST_EARLIER: Final = 20  # configurations
_LONGEST: Final = 500  # characters of an event
# The prefix of metrics that the training function reports.
REPORTED: Final = "reported/"
# An event of an evaluation has this text in place of a collector's name.
EVALUATION: Final = "evaluation"


class Recorder:
    """Records the timeline of a run. The recorder continues ``before``, the timeline of an earlier driver."""

    def __init__(
        self,
        fleet: str,
        now: float,
        before: Timeline | None = None,
        configuration: Configuration | None = None,
    ) -> None:
        begun = before or Timeline(fleet=fleet, began=now)
        self._fleet, self._began, self._total = fleet, begun.began, begun.total_frames
        self._configuration = configuration
        self._earlier = _earlier(begun, configuration)
        self._points = Points(begun.times, begun.series, begun.every)
        self._lives = {name: list(spans) for name, spans in begun.lives.items()}
        self._evaluations = Evaluations(begun.evaluations)
        self._evaluation_failures: int | None = None
        self._events = list(begun.happened)
        self._left_out = begun.left_out
        self._known: dict[str, tuple[int, str | None]] = {}  # restarts and last error of each collector
        self._ended: str | None = None
        if before is not None:
            self._add_event(now, _restarted(begun, configuration))

    def note(self, report: DriverReport, now: float, evaluations: Sequence[EvaluationStatus] = ()) -> None:
        """Record ``report`` at the time ``now`` in seconds since the epoch. ``now`` must increase with each call.

        ``evaluations`` has a status for each result since the last call. ``report`` has only the newest result.
        """
        if report.progress is not None:
            self._total = report.progress.total_frames
        self._points.add(now, dict(_numbers(report)))
        # A resumed driver reports the newest result of its checkpoint, which is not in ``evaluations``.
        self._evaluations.note(*evaluations, *filter(None, [report.evaluation]))
        if report.evaluation is not None:
            self._note_evaluation_failures(report.evaluation, now)
        for row in report.collectors:
            if row.name in self._lives or len(self._lives) < MOST_LIVES:
                self._live(row, now)
            self._note_failures(row, now)

    def end(self, sentence: str) -> None:
        """Record how the run ended."""
        self._ended = sentence

    def timeline(self) -> Timeline:
        """Return the timeline so far."""
        return Timeline(
            fleet=self._fleet,
            began=self._began,
            times=list(self._points.times),
            series={name: list(values) for name, values in self._points.series.items()},
            every=self._points.every,
            total_frames=self._total,
            lives={name: list(spans) for name, spans in self._lives.items()},
            evaluations=list(self._evaluations.results),
            happened=list(self._events),
            left_out=self._left_out,
            ended=self._ended,
            configuration=self._configuration,
            earlier=list(self._earlier),
        )

    def _note_evaluation_failures(self, status: EvaluationStatus, now: float) -> None:
        known, failures = self._evaluation_failures, status.failed + status.restarts
        self._evaluation_failures = failures
        # The first counts of a resumed driver come from its checkpoint, so they are not events.
        if known is not None and failures > known:
            self._add_event(now, status.last_failure or "an evaluator was restarted", EVALUATION)

    def _live(self, row: CollectorStatus, now: float) -> None:
        spans = self._lives.setdefault(row.name, [])
        restarts, _ = self._known.get(row.name, (row.restarts, None))
        last = spans[-1] if spans else None
        if last is not None and last.state == row.state and restarts == row.restarts and row.name in self._known:
            spans[-1] = last.model_copy(update={"end": now})
            return
        # States between two drivers are unknown, so the last span of the previous driver is not extended.
        if last is not None and row.name in self._known:
            spans[-1] = last.model_copy(update={"end": now})
        spans.append(Span(state=row.state, begin=now, end=now))
        del spans[:-MOST_SPANS]

    def _note_failures(self, row: CollectorStatus, now: float) -> None:
        known = self._known.get(row.name)
        self._known[row.name] = (row.restarts, row.last_error)
        if known is None:
            return
        if row.last_error is not None and row.last_error != known[1]:
            self._add_event(now, row.last_error, row.name)
        elif row.restarts > known[0]:
            self._add_event(now, row.last_error or "restarted", row.name)

    def _add_event(self, now: float, what: str, collector: str | None = None) -> None:
        self._events.append(RunEvent(time=now, what=what[:_LONGEST], collector=collector))
        self._left_out += max(0, len(self._events) - MOST_HAPPENED)
        del self._events[:-MOST_HAPPENED]


def _earlier(before: Timeline, configuration: Configuration | None) -> list[Earlier]:
    """Return the earlier configurations of the run, at most the newest 20.

    A configuration whose drivers delivered no frames is left out.
    """
    frames = int(next((value for value in reversed(before.series.get("frames", [])) if value is not None), 0.0))
    since = before.earlier[-1].until_frames if before.earlier else 0
    if before.configuration is None or before.configuration == configuration or frames <= since:
        return list(before.earlier)
    return [*before.earlier, Earlier(until_frames=frames, configuration=before.configuration)][-MOST_EARLIER:]


def _restarted(before: Timeline, configuration: Configuration | None) -> str:
    """Return that the driver was restarted, with the changed fields and the end of the earlier driver if known."""
    found = ["the driver was restarted"]
    if before.configuration and configuration and (changed := changed_fields(before.configuration, configuration)):
        found.append(f"changed in the spec: {', '.join(changed)}")
    if before.ended is not None:
        found.append(f"the earlier driver ended with: {before.ended}")
    return "; ".join(found)


def _numbers(report: DriverReport) -> Iterator[tuple[str, float]]:
    """Yield the known numbers of a report by name."""
    progress, weights = report.progress, report.weights
    found: dict[str, float | None] = {}
    if progress is not None:
        found |= {
            "frames": progress.frames_delivered,
            "frames per second": progress.frames_per_second,
            "driver idle": progress.driver_idle_ratio,
            "collectors idle": progress.collector_idle_ratio,
        }
        if progress.collectors is not None:
            found |= {"available": progress.collectors.available, "desired": progress.collectors.desired}
        if progress.episodes is not None:
            episodes = progress.episodes
            found |= {"return": episodes.return_mean, "return min": episodes.return_min}
            found |= {"return max": episodes.return_max, "length": episodes.length_mean}
        found |= {f"{REPORTED}{name}": value for name, value in progress.metrics.items()}
    if weights is not None:
        found |= {"published": weights.published, "acknowledged": weights.acknowledged}
        staleness = weights.staleness
        found |= {"staleness": staleness.mean, "staleness max": staleness.max, "staleness bound": staleness.bound}
    for name, value in found.items():
        if value is not None and abs(value) < float("inf"):
            yield name, float(value)
