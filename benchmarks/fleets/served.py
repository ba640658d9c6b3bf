"""The operator, with a stopwatch in its event loop: ``python -m benchmarks.fleets.served FILE ARGUMENTS...``.

On SIGUSR1 it writes the longest steps since the last time into FILE: a JSON array of ``[seconds, CPU seconds, what]``.
Nothing else of it is other than ``python -m collectorfleet_operator``.
"""

from __future__ import annotations

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

    def install(self) -> None:
        run = events.Handle._run

        def timed(handle: Any) -> None:
            began, cpu = time.perf_counter(), time.thread_time()
            run(handle)
            took = time.perf_counter() - began
            if took > self._least:
                self._note(took, time.thread_time() - cpu, handle)

        events.Handle._run = timed  # type: ignore[method-assign]
        signal.signal(signal.SIGUSR1, lambda *_: self._write())

    def _note(self, took: float, cpu: float, handle: Any) -> None:
        owner = getattr(handle._callback, "__self__", None)
        self._longest.append((took, cpu, repr(owner or handle._callback)[:200]))
        if len(self._longest) > 2 * _KEPT:
            self._longest = sorted(self._longest, reverse=True)[:_KEPT]
            self._least = self._longest[-1][0]

    def _write(self) -> None:
        text = json.dumps(sorted(self._longest, reverse=True)[:_KEPT])
        self._longest, self._least = [], 0.0
        other = self._file.with_suffix(".part")
        other.write_text(text)
        other.rename(self._file)


def main() -> None:
    from collectorfleet_operator.__main__ import main as serve

    Stopwatch(Path(sys.argv.pop(1))).install()
    serve()


if __name__ == "__main__":
    main()
