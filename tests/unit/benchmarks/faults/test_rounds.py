"""What rounds have in common, and where they differ."""

from __future__ import annotations

from benchmarks.faults.rounds import merged


def test_numbers_have_their_spread_and_equal_words_stand_once() -> None:
    assert merged([["goes on", 1.0], ["goes on", 3.0], ["goes on", 2.0]]) == ["goes on", "2 (1-3)"]


def test_words_that_differ_say_how_often() -> None:
    assert merged([["goes on"], ["hangs"], ["goes on"]]) == ["goes on (2 of 3); hangs (1 of 3)"]


def test_seconds_and_addresses_in_words_are_no_difference() -> None:
    said = "raises after {} s: connection closed by peer [127.0.0.1]:{}"
    rounds = [[said.format(seconds, port)] for seconds, port in ((0.2, 13221), (0.4, 20001))]
    assert merged(rounds) == ["raises after 0.3 (0.2-0.4) s: connection closed by peer [127.0.0.1]:13221"]


def test_counts_are_a_difference() -> None:
    assert merged([["15 of 100"], ["16 of 100"]]) == ["15 of 100 (1 of 2); 16 of 100 (1 of 2)"]


def test_a_number_that_a_round_lacks_is_told() -> None:
    assert merged([[1.0], ["-"], [2.0]]) == ["1.5 (1-2), 1 of 3 without"]
