"""Format one line for each fleet, for ``top`` and for ``status`` without a name. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from collectorfleet.display import text
from collectorfleet.display.columns import ago, columns, widths
from collectorfleet_api.v1alpha1 import (
    CollectorFleet,
    CollectorFleetStatus,
    ConditionType,
    Progress,
    WeightsStatus,
    run_progress,
)

_DELETED: Final = "Deleted"
_NAMESPACE: Final = ("namespace",)
_USUAL: Final = ("fleet", "phase", "collectors", "weights", "frames", "done", "frames/s", "left", "evaluation", "age")
_WIDE: Final = ("mode", "staleness", "restarts", "groups", "reason")


class Overview:
    """A table with a header and a line for each fleet. The columns of later lines align with those of earlier lines.

    ``wide`` adds columns for details. ``namespaces`` adds the column of the namespace.
    """

    def __init__(self, *, namespaces: bool = False, wide: bool = False) -> None:
        self._columns = (*(_NAMESPACE if namespaces else ()), *_USUAL, *(_WIDE if wide else ()))
        self._widths: Sequence[int] = ()

    def lines(self, fleets: Iterable[tuple[CollectorFleet, bool]], now: datetime) -> list[str]:
        """Return a line for each fleet. The second item of each pair is True if the fleet was deleted.

        The first call with a fleet also returns the header.
        """
        rows = [self._cells(fleet, now, is_deleted=is_deleted) for fleet, is_deleted in fleets]
        if rows and not self._widths:
            rows.insert(0, self._columns)
        self._widths = widths(rows, self._widths)
        return columns(rows, self._widths)

    def _cells(self, fleet: CollectorFleet, now: datetime, *, is_deleted: bool) -> tuple[str, ...]:
        cells = {column: _CELLS[column](fleet, now) for column in self._columns}
        return tuple((cells | {"phase": _DELETED} if is_deleted else cells).values())


def _progress(fleet: CollectorFleet) -> Progress:
    return (fleet.status and fleet.status.progress) or Progress()


def _weights(fleet: CollectorFleet) -> WeightsStatus:
    return (fleet.status and fleet.status.weights) or WeightsStatus()


def _done(fleet: CollectorFleet) -> str:
    share = text.percent(_progress(fleet))
    return text.UNKNOWN if share is None else run_progress.done_text(share)


def _left(fleet: CollectorFleet) -> str:
    left = text.seconds_left(_progress(fleet))
    return text.UNKNOWN if left is None else run_progress.duration(left)


def _evaluation(fleet: CollectorFleet) -> str:
    evaluation = fleet.status.evaluation if fleet.status else None
    return (evaluation and evaluation.summary) or text.UNKNOWN


def _groups(fleet: CollectorFleet) -> str:
    counts = _progress(fleet).collectors
    return (counts.groups_summary if counts else "") or text.UNKNOWN


def _reason(fleet: CollectorFleet) -> str:
    ready = (fleet.status or CollectorFleetStatus()).condition(ConditionType.READY)
    return ready.reason if ready else text.UNKNOWN


def _restarts(fleet: CollectorFleet) -> str:
    driver = fleet.status.driver if fleet.status else None
    return str(driver.restarts) if driver else text.UNKNOWN


_CELLS: Final[Mapping[str, Callable[[CollectorFleet, datetime], str]]] = {
    "namespace": lambda fleet, _: fleet.metadata.namespace,
    "fleet": lambda fleet, _: fleet.metadata.name,
    "phase": lambda fleet, _: fleet.status.phase.value if fleet.status and fleet.status.phase else text.UNKNOWN,
    "collectors": lambda fleet, _: text.collectors(_progress(fleet)),
    "weights": lambda fleet, _: text.number(_weights(fleet).published),
    "frames": lambda fleet, _: f"{_progress(fleet).frames_delivered:,}",
    "done": lambda fleet, _: _done(fleet),
    "frames/s": lambda fleet, _: text.rate(_progress(fleet)),
    "left": lambda fleet, _: _left(fleet),
    "evaluation": lambda fleet, _: _evaluation(fleet),
    "age": lambda fleet, now: ago(fleet.metadata.creation_timestamp, now),
    "mode": lambda fleet, _: fleet.spec.collection.mode.value,
    "staleness": lambda fleet, _: text.staleness(_weights(fleet).staleness),
    "restarts": lambda fleet, _: _restarts(fleet),
    "groups": lambda fleet, _: _groups(fleet),
    "reason": lambda fleet, _: _reason(fleet),
}
