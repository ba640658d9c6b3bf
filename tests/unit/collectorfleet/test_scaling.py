"""Which collectors leave a smaller fleet."""

from __future__ import annotations

from collectorfleet.scaling import HighestIndexes, Placed


def test_an_indexed_job_keeps_its_first_ranks_whoever_runs() -> None:
    collectors = [Placed("c10", 10, None), Placed("c2", 2, "b"), Placed("c0", 0, None), Placed("c1", 1, "a")]
    assert HighestIndexes().leaving(collectors, 2) == ["c10", "c2"]
