"""The table of the transports' benchmark: paired ratios, and what was said where there is no number."""

from __future__ import annotations

from benchmarks.common.child import Failed
from benchmarks.transports.__main__ import MEASURES, rows
from benchmarks.transports.measures import MEASURES as BY_NAME
from benchmarks.transports.sides import BESIDE, MAKE, OURS, THEIRS


def test_ratios_are_of_the_same_round_and_a_failure_says_why() -> None:
    rounds = [
        {"object_store": {"ms": 10.0}, "rpc": {"ms": 20.0}, "RPCCollector": {"ms": 60.0}},
        {"object_store": {"ms": 100.0}, "rpc": {"ms": 100.0}, "RPCCollector": Failed("not finished within 5 s")},
    ]
    named = "25 MB of weights to both, ms"
    assert rows("25 MB", rounds) == [
        [named, "object_store", "55 (10-100)", "", "", "2 of 2"],
        [named, "rpc", "60 (20-100)", "1.5x (1-2)", "", "2 of 2"],
        [named, "RPCCollector", "60; not finished within 5 s", "", "3x", "1 of 2"],
    ]


def test_whatever_is_asked_for_can_be_measured() -> None:
    assert MEASURES.keys() == BY_NAME.keys()
    assert set(MAKE) == {*OURS, *THEIRS}
    assert set(BESIDE.values()) == set(OURS)
