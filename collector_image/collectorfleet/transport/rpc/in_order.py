"""Calls run on several threads of an agent, so that one may pass another: each has a number, and its turn."""

from __future__ import annotations

from typing import Any


class InOrder:
    """Numbers are 1, 2, ...; not for several threads at once."""

    def __init__(self) -> None:
        self._next = 1
        self._early: dict[int, Any] = {}

    def take(self, number: int, said: Any) -> list[Any]:
        """What is due now that this has come, in order."""
        self._early[number] = said
        due = []
        while self._next in self._early:
            due.append(self._early.pop(self._next))
            self._next += 1
        return due
