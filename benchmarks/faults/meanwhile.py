"""Samples the status of a FleetCollector during a fault, and summarizes how its collectors reacted."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

_EVERY_SECONDS = 0.02


@dataclass(frozen=True)
class Seen:
    """One sample at a monotonic time: the available collectors, the state of each collector, and the last error."""

    at: float
    available: int
    states: tuple[tuple[str, str], ...]
    error: str | None


class Watch:
    """A thread that samples ``collector.status()`` until :meth:`stop`. ``seen`` has the samples that show a change."""

    def __init__(self, collector: Any) -> None:
        self._collector = collector
        self._over = threading.Event()
        self.seen: list[Seen] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(5)

    def _run(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            status = self._collector.status()
            states = tuple(sorted((row.name, str(row.state)) for row in status.collectors))
            error = next((row.last_error for row in status.collectors if row.last_error), None)
            now = Seen(time.monotonic(), status.progress.collectors.available, states, error)
            if not self.seen or (now.available, now.states, now.error) != self._last:
                self.seen.append(now)

    @property
    def _last(self) -> tuple[int, tuple[tuple[str, str], ...], str | None]:
        last = self.seen[-1]
        return last.available, last.states, last.error


@dataclass(frozen=True)
class Story:
    """The reaction to a fault.

    ``noticed`` is the time until a collector was not available, ``full_strength`` the time until all were available
    again. Both are seconds after the fault; None means never. ``states`` has the states of collectors that changed.
    """

    noticed: float | None
    full_strength: float | None
    states: str
    error: str | None


def story(seen: list[Seen], fault_at: float, collectors: int) -> Story:
    """Summarize the samples of a fleet of ``collectors`` after the fault."""
    before = next((s for s in reversed(seen) if s.at <= fault_at), None)
    after = ([before] if before else []) + [s for s in seen if s.at > fault_at]
    noticed = next((s.at for s in after if s.available < collectors), None)
    full = next((s.at for s in after if noticed is not None and s.at > noticed and s.available == collectors), None)
    paths: dict[str, list[str]] = {}
    for sample in after:
        for name, state in sample.states:
            path = paths.setdefault(name, [])
            if path[-1:] != [state]:
                path.append(state)
    told = [f"{name} {' → '.join(path)}" for name, path in sorted(paths.items()) if len(path) > 1]
    error = next((s.error for s in reversed(after) if s.error), None)
    return Story(
        None if noticed is None else noticed - fault_at,
        None if full is None else full - fault_at,
        "; ".join(told),
        error,
    )
