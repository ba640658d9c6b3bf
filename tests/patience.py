"""Measure by which factor the timeouts of tests exceed the waits.

A timeout limits only failing tests, so a long timeout costs nothing while tests pass. Choose a timeout so that a wait
beside two busy processes takes at most ``1 / FACTOR`` of it. ``pytest --waits`` prints the waits that took more.

On 28 November 2026, on two cores with a load of 12 to 19, none of 519 waits of ``tests/contract`` took more. That load
was higher than the load of two processes: Ray did not start within its own timeout.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

FACTOR = 3.0


@dataclass(frozen=True)
class Wait:
    """A wait that ended before its timeout."""

    seconds: float
    within: float
    what: str
    test: str

    @property
    def factor(self) -> float:
        """Return the factor by which the timeout exceeds the wait."""
        return self.within / self.seconds

    def __str__(self) -> str:
        return f"{self.seconds:.1f} of {self.within:g} s: {self.what or 'the awaited state'} ({self.test})"


@dataclass
class Waits:
    """The waits of this process that were longer than ``FACTOR`` allows."""

    number: int
    long: list[Wait]

    def note(self, seconds: float, within: float, what: str = "") -> None:
        """Count a wait that took ``seconds`` of its timeout of ``within`` seconds."""
        self.number += 1
        if seconds * FACTOR > within > 0:
            test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
            self.long.append(Wait(seconds, within, what, test))

    def summary(self) -> str:
        """Return a line for each wait that was too long, in increasing order of the factors."""
        if not self.long:
            return f"each of {self.number} waits took at most 1/{FACTOR:g} of its timeout"
        lines = [f"{len(self.long)} of {self.number} waits took more than 1/{FACTOR:g} of their timeouts:"]
        return "\n  ".join([*lines, *map(str, sorted(self.long, key=lambda wait: wait.factor))])


waits = Waits(0, [])
