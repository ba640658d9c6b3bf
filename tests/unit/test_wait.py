"""Waiting returns what was awaited, and says what it saw instead when it gives up."""

from __future__ import annotations

import itertools

import pytest
from tests.wait import eventually


def test_the_awaited_value_is_returned() -> None:
    counter = itertools.count()
    assert eventually(lambda: next(counter), within=5, until=lambda n: n == 3, every=0) == 3


def test_giving_up_says_the_last_value_seen() -> None:
    with pytest.raises(AssertionError, match="three replicas not reached within 0 s; last seen: 2"):
        eventually(lambda: 2, within=0, until=lambda n: n == 3, what="three replicas")


def test_a_tolerated_error_is_not_yet_and_becomes_the_cause() -> None:
    def probe() -> bool:
        raise KeyError("status")

    with pytest.raises(AssertionError, match="last error: KeyError: 'status'") as failure:
        eventually(probe, within=0, tolerate=(KeyError,))
    assert isinstance(failure.value.__cause__, KeyError)


def test_any_other_error_ends_the_wait_at_once() -> None:
    def probe() -> bool:
        raise ValueError("broken test")

    with pytest.raises(ValueError, match="broken test"):
        eventually(probe, within=60)
