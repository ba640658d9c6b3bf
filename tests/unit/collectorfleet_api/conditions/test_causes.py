"""Errors that many collectors have, said once."""

from __future__ import annotations

from collectorfleet_api.conditions.causes import name_ranges


def test_names_are_told_as_ranges() -> None:
    assert name_ranges(["c2", "c0", "c1", "c15", "other", "c7", "c8"]) == "other, c0-c2, c7-c8, c15"
