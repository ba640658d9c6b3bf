"""What the garbage collector is kept from."""

from __future__ import annotations

import gc

from collectorfleet_operator.edge.garbage import set_aside


def test_what_is_there_by_now_is_gone_through_no_more_and_what_comes_is() -> None:
    before = gc.get_freeze_count()
    try:
        set_aside()
        assert gc.get_freeze_count() > before
        later: list[object] = []
        later.append(later)
        del later
        assert gc.collect() >= 1
    finally:
        gc.unfreeze()
