"""A sentence about one thing has the singular."""

from __future__ import annotations

import pytest

from collectorfleet_api.counts import counted


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (0, ("frame",), "0 frames"),
        (1, ("frame",), "1 frame"),
        (12000, ("frame",), "12000 frames"),
        (1, ("batch", "batches"), "1 batch"),
        (2, ("batch", "batches"), "2 batches"),
        (1, ("frame was", "frames were"), "1 frame was"),
    ],
)
def test_a_number_has_its_noun(number: int, words: tuple[str, ...], said: str) -> None:
    assert counted(number, *words) == said


def test_digits_can_be_separated() -> None:
    assert [counted(number, "frame", by_thousands=True) for number in (1, 12000)] == ["1 frame", "12,000 frames"]
