"""Whose environments have one seed."""

from __future__ import annotations

from collectorfleet.gather.state.first_starts import FirstStarts
from collectorfleet.messages import CollectorId

C0, C1, C2, AGAIN = CollectorId("c0", 1), CollectorId("c1", 2), CollectorId("c2", 3), CollectorId("c0", 4)


def test_the_first_two_that_begin_alike_are_named_once() -> None:
    starts = FirstStarts()
    assert starts.noted(C0, "a") is None
    assert starts.noted(C1, "b") is None
    warning = starts.noted(C2, "a")
    assert warning is not None
    assert warning.startswith("environment: the first episodes of c0 and c2 began with the same observations")
    assert "collector_index" in warning
    assert starts.noted(AGAIN, "b") is None


def test_a_replacement_that_repeats_what_it_replaces_is_told() -> None:
    starts = FirstStarts()
    starts.noted(C0, "a")
    warning = starts.noted(AGAIN, "a")
    assert warning is not None
    assert "the first episodes of c0 and the collector that it replaced" in warning
