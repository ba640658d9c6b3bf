"""Run the operator with a stopwatch in its event loop: ``python -m benchmarks.fleets.served FILE ARGUMENTS...``.

On SIGUSR1 the process writes into FILE how many seconds the longest step took since the previous signal. Apart from the
stopwatch, the process is ``python -m collectorfleet_operator``.
"""

from __future__ import annotations

import signal
import sys
import time
from asyncio import events
from pathlib import Path
from typing import Any


class Stopwatch:
    """Measures the steps of asyncio's event loop. A step is one callback."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._longest = 0.0

    def install(self) -> None:
        """Measure all event loops of the process from now on, and write the result on SIGUSR1."""
        run = events.Handle._run

        def timed(handle: Any) -> None:
            began = time.perf_counter()
            run(handle)
            self._longest = max(self._longest, time.perf_counter() - began)

        # asyncio has no hook around all of its callbacks.
        events.Handle._run = timed  # type: ignore[method-assign, assignment]
        signal.signal(signal.SIGUSR1, lambda *_: self._write())

    def _write(self) -> None:
        longest, self._longest = self._longest, 0.0
        other = self._file.with_suffix(".part")
        other.write_text(f"{longest!r}\n")
        other.rename(self._file)


def main() -> None:
    from collectorfleet_operator.__main__ import main as serve

    Stopwatch(Path(sys.argv.pop(1))).install()
    serve()


if __name__ == "__main__":
    main()
