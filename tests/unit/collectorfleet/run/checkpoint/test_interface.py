"""A run without checkpoints writes none and says so."""

from __future__ import annotations

from collectorfleet.run.checkpoint.interface import NoCheckpoints
from collectorfleet.run.position import Position


def test_a_run_without_checkpoints_has_nothing_due_and_nothing_on_disk() -> None:
    none = NoCheckpoints()
    assert (none.status, none.due, none.keep({"holder": {}})) == (None, False, False)
    assert none.is_restored
    none.remember(Position())
    assert not none.write(Position())
    assert not none.write_remembered(Position())
