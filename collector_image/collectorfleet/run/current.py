"""The run that this process is in, for code that nobody hands it to: a script, or what it imports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from collectorfleet.run.handle import Run

# Of a script that somebody started by hand: nobody stops it, and nothing of it is kept.
_current = Run()


def current_run() -> Run:
    """The run of a driver whose script this is; outside of one, a run without checkpoints that nobody stops."""
    return _current


@contextmanager
def as_current(run: Run) -> Iterator[None]:
    """While inside, :func:`current_run` is ``run``."""
    global _current
    before, _current = _current, run
    try:
        yield
    finally:
        _current = before
