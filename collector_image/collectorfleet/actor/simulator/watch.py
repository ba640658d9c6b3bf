"""Watch a simulator. If the simulator ends or hangs and the environment raises no error, report the failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from collectorfleet.actor.simulator.failure import SimulatorFailed, last_lines
from collectorfleet.actor.simulator.options import ADDRESSES, Simulator
from collectorfleet.actor.simulator.starting import start
from collectorfleet.errors import InvalidOption
from collectorfleet.user_code import accepts, name_of

_LOOK_SECONDS: Final = 0.5
# After an error of the environment, the watch waits up to this number of seconds for the simulator's end. When the
# simulator ends, its lost connection may raise an error before the watch detects the end.
_NOTICED_SECONDS: Final = 2.0
# The seconds between the simulator's end and the report. In this time, the environment can raise its own error, which
# has a traceback.
_RAISES_SECONDS: Final = 5.0
# The watch uses this fraction of the driver's deadline. So its report arrives before the driver treats the collector as
# hung.
_PART: Final = 0.8
# The watch waits for this multiple of the longest rollout so far. The driver's factor is larger (LearnedDeadline).
_OF_THE_LONGEST: Final = 4.0


class WatchedSimulator:
    """Starts and watches a simulator. The constructor blocks until the simulator listens on its ports.

    If the simulator ends or hangs, a separate thread calls ``report`` once. After :meth:`stop`, the thread makes no
    report. The thread reports the simulator's end 5 seconds later, so that an error of the environment comes first.
    """

    def __init__(self, simulator: Simulator, report: Callable[[SimulatorFailed], None]) -> None:
        self._limits = simulator
        self._report = report
        self._rollouts = 0
        self._longest = 0.0
        # The time at which the running work must have ended, and the time limit of this work in seconds.
        self._deadline: tuple[float, float] | None = None
        self._over = threading.Event()
        begun = time.monotonic()
        self._started = start(simulator.process)
        # The driver's deadline includes the start. After a slow start, half of the remaining time stays for the build.
        left = max(simulator.build_seconds - (time.monotonic() - begun), 0.0)
        self._allow_exactly(max(left - (1 - _PART) * simulator.build_seconds, left / 2))
        threading.Thread(target=self._watch_and_report, name="simulator-watch", daemon=True).start()

    def arguments(self, create: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for the factory ``create``: the user's arguments and the simulator's addresses.

        Raises InvalidOption if the factory has no parameter for the addresses.
        """
        if not accepts(create, ADDRESSES):
            raise InvalidOption(
                f"{name_of(create)} has no parameter '{ADDRESSES}'; add this parameter, which receives the "
                f"addresses of the simulator, such as {self._started.addresses}"
            )
        return {**given, ADDRESSES: self._started.addresses}

    def built(self) -> None:
        """Clear the deadline, because the environment is built."""
        self._deadline = None

    @contextmanager
    def stepping(self) -> Iterator[None]:
        """Set a deadline for the one rollout that runs inside the context."""
        first, begun = self._rollouts == 0, time.monotonic()
        allowed = self._limits.first_request_seconds if first else self._limits.request_seconds
        self._allow(max(allowed, _OF_THE_LONGEST / _PART * self._longest))
        try:
            yield
        finally:
            self._deadline = None
        self._rollouts += 1
        if not first:
            self._longest = max(self._longest, time.monotonic() - begun)

    def explained(self, cause: str) -> str:
        """Return the text ``cause`` of the environment's error.

        If the simulator has ended, the returned text also describes the end of the simulator.
        """
        started = self._started
        if not started.process.ended.wait(_NOTICED_SECONDS):
            return cause
        return f"{started.name}: {started.process.exit}, and the environment raised {cause}; {self._last_lines()}"

    def stop(self) -> None:
        """Stop the simulator and the watch. Returns at once."""
        self._over.set()
        self._started.process.stop()

    def _allow(self, seconds: float) -> None:
        self._allow_exactly(seconds * _PART)

    def _allow_exactly(self, allowed: float) -> None:
        self._deadline = (time.monotonic() + allowed, allowed)

    def _watch_and_report(self) -> None:
        try:
            self._watch()
        except Exception as error:  # noqa: BLE001  (reported)
            # Without this report, the driver would wait for a simulator that this thread no longer watches.
            self._report_failure(f"{self._started.name}: the collector can no longer watch the simulator: {error!r}")

    def _watch(self) -> None:
        started = self._started
        while not started.process.ended.wait(_LOOK_SECONDS):
            deadline = self._deadline
            if deadline is not None and time.monotonic() > deadline[0]:
                self._report_failure(
                    f"{started.name}: the environment has waited for {deadline[1]:.0f} s, and the simulator still "
                    "runs; "
                    f"{self._last_lines()}"
                )
                return
        if not self._over.wait(_RAISES_SECONDS):
            self._report_failure(f"{started.name}: {started.process.exit}; {self._last_lines()}")

    def _report_failure(self, sentence: str) -> None:
        if not self._over.is_set():
            self._report(SimulatorFailed(sentence))

    def _last_lines(self) -> str:
        return last_lines(self._started.process.tail())
