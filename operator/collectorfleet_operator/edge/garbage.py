"""Python's garbage collector, kept from what is there for good.

A complete collection goes through all objects in one step of the event loop. It takes 50 to 80 ms with a hundred
fleets, and several times that with a thousand, longer than any step may take. So surviving objects are set aside, and
the next collection goes through newer objects only. It runs earlier than Python would run it, since a fifth of the
objects five times as often costs the same. An object that was set aside is freed as usual when its last reference ends.
Only cycles of such objects stay. Once there are twice as many objects as before, one collection goes through
everything.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Final

_GROWN_TOO_MUCH: Final = 2
# Objects before a collection of the young generation, and collections of it before one of the middle generation. These
# are the numbers of Python 3.11. Python 3.13 waits for 2,000 objects, so a complete collection would go through three
# times as many.
_YOUNG: Final = 700
_MIDDLE_AFTER: Final = 10
# Complete ones after so many of the middle generation (Python's own number is 10).
_COMPLETE_AFTER: Final = 2
# Counting what is set aside goes through it, too, if faster.
_COLLECTIONS_PER_COUNT: Final = 500


class SetAside:
    """Whatever complete collections leave; to be made once all modules are imported."""

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()
        # Python waits with the next for a quarter of what the last one left, which now is nothing.
        gc.collect()
        self._counted = gc.get_freeze_count()
        self._collections = 0
        self._thresholds = gc.get_threshold()
        self._is_of_everything = False

    def begin(self) -> None:
        self._thresholds = gc.get_threshold()
        gc.set_threshold(_YOUNG, _MIDDLE_AFTER, _COMPLETE_AFTER)
        gc.callbacks.append(self._after)

    def end(self) -> None:
        gc.callbacks.remove(self._after)
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    def _after(self, phase: str, info: Mapping[str, int]) -> None:
        if phase != "stop" or info["generation"] < 2:
            return
        gc.freeze()
        self._collections += 1
        if self._is_of_everything:
            self._counted, self._is_of_everything = gc.get_freeze_count(), False
        elif (
            self._collections % _COLLECTIONS_PER_COUNT == 0 and gc.get_freeze_count() > _GROWN_TOO_MUCH * self._counted
        ):
            # So that the next one is.
            gc.unfreeze()
            self._is_of_everything = True
