"""Waits that took more of their timeouts than is allowed are printed."""

from __future__ import annotations

import pytest
from tests.patience import FACTOR, Waits
from tests.wait import eventually, waits


def test_a_wait_that_took_more_than_its_part_of_the_time_out_is_printed_with_its_test() -> None:
    noted = Waits(0, [])
    noted.note(seconds=59 / FACTOR, within=60, what="a worker")
    assert noted.summary() == f"each of 1 waits took at most 1/{FACTOR:g} of its timeout"
    noted.note(seconds=31, within=60, what="a head")
    noted.note(seconds=50, within=60, what="a driver")
    lines = noted.summary().splitlines()
    assert lines[0] == f"2 of 3 waits took more than 1/{FACTOR:g} of their timeouts:"
    here = (
        "tests/unit/test_patience.py::test_a_wait_that_took_more_than_its_part_of_the_time_out_is_printed_with_its_test"
    )
    assert lines[1:] == [f"  50.0 of 60 s: a driver ({here})", f"  31.0 of 60 s: a head ({here})"]


def test_each_wait_that_ended_is_counted() -> None:
    before = waits.number
    eventually(lambda: True, within=60)
    with pytest.raises(AssertionError):
        eventually(lambda: False, within=0)
    assert waits.number == before + 1
