"""Garbage collection without long-lived objects (``gc.freeze``).

A complete collection visits all objects in one step of the event loop. It takes 50 to 80 ms with a hundred fleets, and
several times as long with a thousand fleets. This is longer than any step may take. So each complete collection freezes
the surviving objects, and the next collection visits only newer objects.

Collections run more often than with Python's defaults. Five collections that each visit a fifth of the objects take as
long as one collection of all objects. Python still frees a frozen object when its last reference ends. Only cycles of
frozen objects stay. After the number of frozen objects has doubled, one collection visits all objects.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Final

_GROWN_TOO_MUCH: Final = 2
# The number of new objects before a collection of the young generation, and the number of young collections before a
# collection of the middle generation. Both are the defaults of Python 3.11. With Python 3.13's default of 2,000 new
# objects, a complete collection would visit three times as many.
_YOUNG: Final = 700
_MIDDLE_AFTER: Final = 10
# The number of middle collections before a complete collection. Python's default is 10.
_COMPLETE_AFTER: Final = 2
# The number of complete collections between two counts of the frozen objects. A count also visits all frozen objects,
# but faster than a collection.
_COLLECTIONS_PER_COUNT: Final = 500


class GarbageFreezer:
    """Freezes all objects that survive complete collections. Create it after all modules are imported."""

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()
        # Python delays the next complete collection until new objects are a quarter of the last survivors. After this
        # collection there are no survivors.
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
            # The next collection then visits all objects.
            gc.unfreeze()
            self._is_of_everything = True
