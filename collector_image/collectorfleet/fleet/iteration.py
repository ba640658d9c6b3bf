"""Resume an iteration after an interrupt.

Ctrl-C in a notebook ends a generator, but the fleet behind the generator runs on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Resumable(Iterator[T], Generic[T]):
    """An iterator that calls ``begin()`` again after an interrupt, such as KeyboardInterrupt or CancelledError.

    If the iterator of ``begin()`` ends or raises an Exception, the iteration ends, as with a generator.
    """

    def __init__(self, begin: Callable[[], Iterator[T]]) -> None:
        self._begin = begin
        self._batches = begin()

    def __next__(self) -> T:
        try:
            return next(self._batches)
        except Exception:
            raise
        except BaseException:
            self._batches = self._begin()
            raise
