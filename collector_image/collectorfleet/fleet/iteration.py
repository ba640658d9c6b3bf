"""Iterating on after an interrupt: Ctrl-C in a notebook ends a generator, and the fleet behind it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Resumable(Iterator[T], Generic[T]):
    """What ``begin()`` iterates over; it is begun again after KeyboardInterrupt, CancelledError and their kind.

    The end and errors end it, as they end a generator.
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
