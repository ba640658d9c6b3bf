"""A simulator beside its environment: what became of it when the environment fails, or does not notice."""

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
# An environment that lost its connection raises before the end of the simulator is known here.
_NOTICED_SECONDS: Final = 2.0
# An environment that notices the end of its simulator raises by itself, with a traceback.
_RAISES_SECONDS: Final = 5.0
# Of what the driver waits for, so that the report arrives before the driver calls the collector hung.
_PART: Final = 0.8
# Less than the factor by which the driver extends its deadlines (LearnedDeadline).
_OF_THE_LONGEST: Final = 4.0


class WatchedSimulator:
    """Starts the simulator, which blocks until its ports are open, and watches it.

    ``report`` is called once, from another thread, if the simulator ends or does not answer and the environment has
    not raised by then.
    """

    def __init__(self, simulator: Simulator, report: Callable[[SimulatorFailed], None]) -> None:
        self._limits = simulator
        self._report = report
        self._rollouts = 0
        self._longest = 0.0
        # When the work that is under way has to be done, and how many seconds that is after its start.
        self._deadline: tuple[float, float] | None = None
        self._over = threading.Event()
        self._allow(simulator.build_seconds)
        self._started = start(simulator.process)
        threading.Thread(target=self._watch_and_report, name="simulator-watch", daemon=True).start()

    def arguments(self, create: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the factory ``create``: what the user gave, and the addresses.

        Raises InvalidOption: the factory does not take them.
        """
        if not accepts(create, ADDRESSES):
            raise InvalidOption(
                f"{name_of(create)} takes no argument {ADDRESSES}; add the parameter {ADDRESSES}, by which it gets the "
                f"addresses of the simulator, such as {self._started.addresses}"
            )
        return {**given, ADDRESSES: self._started.addresses}

    def built(self) -> None:
        """Note that the environment is built, and no work is under way."""
        self._deadline = None

    @contextmanager
    def stepping(self) -> Iterator[None]:
        """Watch the rollout of one request, which runs inside of the context."""
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
        """Return ``cause`` of an environment that raised, with the end of the simulator if it has ended."""
        started = self._started
        if not started.process.ended.wait(_NOTICED_SECONDS):
            return cause
        return f"{started.name}: {started.process.exit}, and the environment raised {cause}; {self._last_lines()}"

    def stop(self) -> None:
        """Have the simulator ended; returns at once."""
        self._over.set()
        self._started.process.stop()

    def _allow(self, seconds: float) -> None:
        allowed = seconds * _PART
        self._deadline = (time.monotonic() + allowed, allowed)

    def _watch_and_report(self) -> None:
        try:
            self._watch()
        except Exception as error:  # noqa: BLE001  (reported)
            # Without a report, the driver would wait for a simulator that nobody watches.
            self._tell(f"{self._started.name}: the collector can no longer watch it: {error!r}")

    def _watch(self) -> None:
        started = self._started
        while not started.process.ended.wait(_LOOK_SECONDS):
            deadline = self._deadline
            if deadline is not None and time.monotonic() > deadline[0]:
                self._tell(
                    f"{started.name}: the environment waits for {deadline[1]:.0f} s, and the simulator still runs; "
                    f"{self._last_lines()}"
                )
                return
        if not self._over.wait(_RAISES_SECONDS):
            self._tell(f"{started.name}: {started.process.exit}; {self._last_lines()}")

    def _tell(self, sentence: str) -> None:
        if not self._over.is_set():
            self._report(SimulatorFailed(sentence))

    def _last_lines(self) -> str:
        return last_lines(self._started.process.tail())
