"""The operator, with a stopwatch in its event loop: ``python -m benchmarks.fleets.served FILE ARGUMENTS...``.

On SIGUSR1 it writes into FILE, as JSON, what took longest since the last time: ``longest`` steps as
``[seconds, CPU seconds, what]``, and the ``most_cpu`` seconds of one step. Nothing else of it is other than
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
    """The longest steps of the event loop."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._longest: list[tuple[float, float, str]] = []
        self._least = 0.0
        self._most_cpu = 0.0

    def install(self) -> None:
        run = events.Handle._run

        def timed(handle: Any) -> None:
            began, cpu = time.perf_counter(), time.thread_time()
            run(handle)
            took, cpu = time.perf_counter() - began, time.thread_time() - cpu
            self._most_cpu = max(self._most_cpu, cpu)
            if took > self._least:
                self._note(took, cpu, handle)

        events.Handle._run = timed  # type: ignore[method-assign]
        signal.signal(signal.SIGUSR1, lambda *_: self._write())

    def _note(self, took: float, cpu: float, handle: Any) -> None:
        self._longest.append((took, cpu, _name_of(handle._callback)))
        if len(self._longest) > 2 * _KEPT:
            self._longest = sorted(self._longest, reverse=True)[:_KEPT]
            self._least = self._longest[-1][0]

    def _write(self) -> None:
        text = json.dumps({"longest": sorted(self._longest, reverse=True)[:_KEPT], "most_cpu": self._most_cpu})
        self._longest, self._least, self._most_cpu = [], 0.0, 0.0
        other = self._file.with_suffix(".part")
        other.write_text(text)
        other.rename(self._file)


def _name_of(callback: Any) -> str:
    """Of a task what it runs. Other objects are not asked: in their ``repr`` they may take what is not there yet."""
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
