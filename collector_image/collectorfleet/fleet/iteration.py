"""Resume an iteration after an interrupt. Allow only one thread at a time to wait for a batch.

Ctrl-C in a notebook ends a generator, but the fleet of this generator continues to run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from collectorfleet.errors import InvalidOption

T = TypeVar("T")

_WAITING: Final = "thread"


class Resumable(Iterator[T], Generic[T]):
    """An iterator over the items of ``begin()``. After an interrupt, it calls ``begin()`` again.

    An interrupt is a BaseException that is not an Exception, such as KeyboardInterrupt. ``begin()`` returns an
    iterator. If this iterator ends or raises an Exception, the iteration ends, as in a generator. All iterators of a
    collector share the dict ``waiting``. The dict contains the id of the thread that waits for a batch.

    Raises:
        InvalidOption: another thread is waiting for a batch. The iteration of that thread continues.
    """

    def __init__(self, begin: Callable[[], Iterator[T]], waiting: dict[str, int]) -> None:
        self._begin = begin
        self._batches = begin()
        self._waiting = waiting

    def __next__(self) -> T:
        me = threading.get_ident()
        try:
            # Use ``setdefault``, which is one atomic operation, instead of a lock. An interrupt in a lock's
            # release() would lose the batch.
            if self._waiting.setdefault(_WAITING, me) != me:
                raise InvalidOption(
                    "iter(collector): another thread waits for the next batch of this collector; iterate in one "
                    "thread, and pass the batches to the other threads"
                )
            return next(self._batches)
        except Exception:
            raise
        except BaseException:
            self._batches = self._begin()
            raise
        finally:
            if _WAITING in self._waiting and self._waiting[_WAITING] == me:
                del self._waiting[_WAITING]
