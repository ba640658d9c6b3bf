"""Run the operator with a stopwatch in its event loop: ``python -m benchmarks.fleets.served FILE ARGUMENTS...``.

On SIGUSR1 the process writes JSON into FILE, about the steps since the previous signal. ``longest`` has the longest
steps as ``[seconds, CPU seconds, what]``. Apart from the stopwatch, the process is
``python -m collectorfleet_operator``.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from asyncio import events
from pathlib import Path
from typing import Any, Final

_KEPT: Final = 20


class Stopwatch:
    """Measures the steps of asyncio's event loop. A step is one callback."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._longest: list[tuple[float, float, str]] = []
        self._least = 0.0

    def install(self) -> None:
        """Measure all event loops of the process from now on, and write the result on SIGUSR1."""
        run = events.Handle._run

        def timed(handle: Any) -> None:
            began, cpu = time.perf_counter(), time.thread_time()
            run(handle)
            took, cpu = time.perf_counter() - began, time.thread_time() - cpu
            if took > self._least:
                self._note(took, cpu, handle)

        # asyncio has no hook around all of its callbacks.
        events.Handle._run = timed  # type: ignore[method-assign, assignment]
        signal.signal(signal.SIGUSR1, lambda *_: self._write())

    def _note(self, took: float, cpu: float, handle: Any) -> None:
        self._longest.append((took, cpu, _name_of(handle._callback)))
        if len(self._longest) > 2 * _KEPT:
            self._longest = sorted(self._longest, reverse=True)[:_KEPT]
            self._least = self._longest[-1][0]

    def _write(self) -> None:
        text = json.dumps({"longest": sorted(self._longest, reverse=True)[:_KEPT]})
        self._longest, self._least = [], 0.0
        other = self._file.with_suffix(".part")
        other.write_text(text)
        other.rename(self._file)


def _name_of(callback: Any) -> str:
    """Return a name of the callback, with the coroutine if the callback runs a task.

    The ``repr`` of other objects is not used, because it may read attributes that do not exist yet.
    """
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return repr(owner)[:200]
    return f"{getattr(callback, '__qualname__', type(callback).__name__)} of {type(owner).__name__}"


def main() -> None:
    from collectorfleet_operator.__main__ import main as serve

    Stopwatch(Path(sys.argv.pop(1))).install()
    serve()


if __name__ == "__main__":
    main()
