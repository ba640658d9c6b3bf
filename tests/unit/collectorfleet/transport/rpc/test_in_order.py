"""Calls pass each other on the threads of an agent, and are taken in their turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.transport.rpc.in_order import InOrder


@given(st.integers(1, 30).flatmap(lambda count: st.permutations(range(1, count + 1))))
def test_whatever_the_order_in_which_calls_come_each_is_taken_once_in_its_turn(came: list[int]) -> None:
    order = InOrder()
    assert [due for number in came for due in order.take(number, number)] == sorted(came)
