"""Asking collectors something between two rollouts, although any of them may be lost meanwhile."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from collectorfleet.errors import UserCodeError
from collectorfleet.gather.built import wait_built, wait_replaced
from collectorfleet.gather.consumer import Consumer
from collectorfleet.messages import CollectorId, Failed, Returned
from collectorfleet.transport.interface import FleetTransport


class Inquiry:
    """``what`` the user called: collectors have ``timeout`` seconds to be there, and as many again to answer.

    Who is lost is asked again once it is replaced. Methods raise TimeoutError and UserCodeError, which name the
    collector, and what ended the run.
    """

    def __init__(self, consumer: Consumer, transport: FleetTransport, what: str, timeout: float) -> None:
        self._consumer = consumer
        self._transport = transport
        self._what = what
        self._timeout = timeout
        self._give_up = time.monotonic() + timeout
        self._were_there = False

    def names(self) -> list[str]:
        """Of the collectors that are there, in order; blocks until all that still come are."""
        return sorted(self._there(), key=lambda name: int(name[1:]))

    def of_all(self, method: str, arguments: Mapping[str, tuple[Any, ...]] | None = None) -> dict[str, Any]:
        """The answers by name, asked for together; without those of collectors that nothing replaces.

        ``arguments`` by name, of those who are to be asked; None: everybody, without arguments.
        """
        there = self._there()
        given = dict.fromkeys(there, ()) if arguments is None else {n: arguments[n] for n in arguments if n in there}
        asked = {name: self._ask(there[name], method, given[name]) for name in given}
        found = {}
        for name, call in asked.items():
            for answer in self._answers(there[name], call, method, given[name]):
                found[name] = answer
        return found

    def of_one(self, name: str, method: str, *arguments: Any) -> list[Any]:
        """The one answer; none if nothing replaces the collector."""
        id_ = self._there().get(name)
        return [] if id_ is None else self._answers(id_, self._ask(id_, method, arguments), method, arguments)

    def _answers(self, id_: CollectorId, asked: Any, method: str, arguments: tuple[Any, ...]) -> list[Any]:
        while True:
            match self._answer(id_, asked):
                case Returned(value):
                    return [value]
                case Failed(cause, traceback):
                    raise UserCodeError(f"{self._what} (collector {id_})", cause, traceback)
            # The gather thread hears of the loss too, and has it replaced.
            other = wait_replaced(self._consumer.shared, id_, self._left())
            if other is None and self._left():
                return []
            if other is None:
                raise TimeoutError(f"{self._what}: {id_} was lost, and not replaced within {self._timeout:g} s")
            id_, asked = other, self._ask(other, method, arguments)

    def _answer(self, id_: CollectorId, asked: Any) -> Returned | Failed | None:
        if asked is None:
            return None
        try:
            return self._transport.answer(asked, self._left())
        except TimeoutError as error:
            raise TimeoutError(f"{self._what}: no answer of {id_} within {self._timeout:g} s") from error

    def _there(self) -> dict[str, CollectorId]:
        try:
            there = wait_built(self._consumer.shared, self._left())
        except TimeoutError as error:
            raise TimeoutError(
                f"{self._what}: after {self._timeout:g} s {error}; pass a longer timeout, or resize"
            ) from error
        if not self._were_there:
            # Nobody is short of time because another one was late.
            self._were_there, self._give_up = True, time.monotonic() + self._timeout
        return there

    def _ask(self, id_: CollectorId, method: str, arguments: tuple[Any, ...]) -> Any:
        return self._transport.ask(id_, method, *arguments)

    def _left(self) -> float:
        return max(0.0, self._give_up - time.monotonic())
