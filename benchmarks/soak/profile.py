"""A sampling profiler. It reads the stacks of threads a hundred times a second and does not instrument their code."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from types import FrameType


class Profile:
    """Samples of the threads named ``threads``, taken from the constructor until :meth:`stop`."""

    def __init__(self, *threads: str, interval_seconds: float = 0.01) -> None:
        self._names = threads
        self._interval = interval_seconds
        self._inclusive: dict[str, Counter[str]] = {name: Counter() for name in threads}
        self._samples: Counter[str] = Counter()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="profile", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._interval):
            by_id = {thread.ident: thread.name for thread in threading.enumerate()}
            for ident, frame in sys._current_frames().items():
                name = by_id.get(ident)
                if name in self._inclusive:
                    self._samples[name] += 1
                    self._inclusive[name].update(_lines(frame))

    def report(self, most: int = 25) -> str:
        """Return the ``most`` frequent lines of each thread, with the share of samples that have the line in the stack.

        A line's share includes the functions that it called.
        """
        parts = []
        for name in self._names:
            total = self._samples[name] or 1
            parts.append(f"{name}: {total} samples")
            parts += [f"  {count / total:6.1%}  {line}" for line, count in self._inclusive[name].most_common(most)]
        return "\n".join(parts)


def _lines(frame: FrameType | None) -> set[str]:
    found = set()
    while frame is not None:
        code = frame.f_code
        found.add(f"{code.co_qualname} ({'/'.join(code.co_filename.rsplit('/', 2)[1:])}:{frame.f_lineno})")
        frame = frame.f_back
    return found
