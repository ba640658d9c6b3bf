"""Restores the order of calls. An agent runs calls on several threads, so each call has a number."""

from __future__ import annotations

from typing import Any


class InOrder:
    """Sorts messages by their numbers 1, 2, ... Not thread-safe."""

    def __init__(self) -> None:
        self._next = 1
        self._early: dict[int, Any] = {}

    def take(self, number: int, said: Any) -> list[Any]:
        """Add a message. Return all messages that are now in sequence."""
        self._early[number] = said
        due = []
        while self._next in self._early:
            due.append(self._early.pop(self._next))
            self._next += 1
        return due
