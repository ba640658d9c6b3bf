"""Wait for a condition. Tests call this module in place of a sleep of fixed length."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from tests.patience import waits

T = TypeVar("T")


def eventually(
    probe: Callable[[], T],
    *,
    within: float,
    until: Callable[[T], bool] = bool,
    every: float = 0.1,
    what: str = "",
    tolerate: tuple[type[Exception], ...] = (AssertionError,),
) -> T:
    """Call ``probe`` every ``every`` seconds until ``until(value)`` is true, and return that value.

    Blocks for at most ``within`` seconds, plus ``every`` seconds and one call of ``probe``. An exception of a type in
    ``tolerate`` means "not yet".

    Raises:
        AssertionError: The time is over. The message has the last value or exception, and ``what`` names the awaited
            state.
    """
    __tracebackhide__ = True
    began = time.monotonic()
    deadline = began + within
    while True:
        cause: Exception | None = None
        try:
            value = probe()
            if until(value):
                waits.note(time.monotonic() - began, within, what)
                return value
            seen = f"last seen: {value!r}"
        except tolerate as error:
            cause = error
            seen = f"last error: {type(error).__name__}: {error}"
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what or 'the awaited state'} not reached within {within:g} s; {seen}") from cause
        time.sleep(every)
