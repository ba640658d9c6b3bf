"""Provide the run of this process to code that gets no ``run`` argument: a script and its imports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from collectorfleet.run.handle import Run

# The run of a script that was started without a driver. This run has no requests to stop and no checkpoints.
_current = Run()


def current_run() -> Run:
    """Return the run of the driver that executes this script. Without a driver, return a run without checkpoints."""
    return _current


@contextmanager
def as_current(run: Run) -> Iterator[None]:
    """Let :func:`current_run` return ``run`` inside the ``with`` block."""
    global _current
    before, _current = _current, run
    try:
        yield
    finally:
        _current = before
