"""The operator, with a stopwatch in its event loop: ``python -m benchmarks.fleets.served FILE ARGUMENTS...``.

On SIGUSR1 it writes the longest steps since the last time into FILE: a JSON array of ``[seconds, CPU seconds,
seconds of garbage collection, what]``. Nothing else of it is other than ``python -m collectorfleet_operator``.
"""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import sys
import time
from asyncio import events
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_KEPT: Final = 20


class Stopwatch:
    """The longest steps of the event loop."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._longest: list[tuple[float, float, float, str]] = []
        self._least = 0.0
        self._collecting_since = 0.0
        self._collected_seconds = 0.0

    def install(self) -> None:
        run = events.Handle._run

        def timed(handle: Any) -> None:
            began, cpu, collected = time.perf_counter(), time.thread_time(), self._collected_seconds
            run(handle)
            took = time.perf_counter() - began
            if took > self._least:
                self._note(took, time.thread_time() - cpu, self._collected_seconds - collected, handle)

        events.Handle._run = timed  # type: ignore[method-assign]
        gc.callbacks.append(self._on_collection)
        signal.signal(signal.SIGUSR1, lambda *_: self._write())

    def _on_collection(self, phase: str, _: Mapping[str, int]) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._collecting_since = now
        else:
            self._collected_seconds += now - self._collecting_since

    def _note(self, took: float, cpu: float, collected: float, handle: Any) -> None:
        self._longest.append((took, cpu, collected, _name_of(handle._callback)))
        if len(self._longest) > 2 * _KEPT:
            self._longest = sorted(self._longest, reverse=True)[:_KEPT]
            self._least = self._longest[-1][0]

    def _write(self) -> None:
        text = json.dumps(sorted(self._longest, reverse=True)[:_KEPT])
        self._longest, self._least = [], 0.0
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
