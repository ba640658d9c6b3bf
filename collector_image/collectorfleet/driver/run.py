"""``Run``: what a training function gets beside the collector."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

# A status has to stay small: it is one object in the API server.
MOST_METRICS: Final = 100


class Run:
    """The run that a training function is part of.

    ``train(collector, run, **kwargs)`` reports numbers with :meth:`report` and returns when it is done.
    """

    def __init__(self, stop_requested: Callable[[], bool] = lambda: False) -> None:
        self._stop_requested = stop_requested
        self._started = time.monotonic()
        self._metrics: Mapping[str, float] = {}

    def report(self, **metrics: Any) -> None:
        """Show numbers in ``status.progress.metrics``: the newest value of each name.

        Takes what ``float()`` takes, tensors of one element too. Returns at once; the status follows within 2 s.

        Raises:
            TypeError: a value is no number.
            ValueError: more than 100 names.
        """
        merged = {**self._metrics, **{name: _number(name, value) for name, value in metrics.items()}}
        if len(merged) > MOST_METRICS:
            raise ValueError(
                f"run.report: {len(merged)} metrics are too many for a status; report at most {MOST_METRICS} names"
            )
        self._metrics = merged  # one assignment: the reporter reads from another thread

    @property
    def metrics(self) -> Mapping[str, float]:
        """The newest value of each reported name."""
        return self._metrics

    @property
    def stop_requested(self) -> bool:
        """True once somebody wants the run to end. The collector's iteration then ends with the batch in hand; a
        function that works for long between batches may look here."""
        return self._stop_requested()

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._started


def _number(name: str, value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError(f"run.report: {name}={value!r} is a {type(value).__name__}, not a number")
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"run.report: {name} is a {type(value).__name__}, not a number: {error}") from error
    return number
