"""Call collectors between two rollouts.

If a collector is lost before it answers, repeat the call in its replacement.
"""

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
    """A call by the user, such as ``map_fn``. Collectors answer the call between two rollouts.

    ``what`` is the name of the call in messages. All collectors must be built within ``timeout`` seconds. They must
    then answer within another ``timeout`` seconds. If a collector is lost before it answers, the call is repeated in
    its replacement. If the run has ended with an error, the methods raise this error.

    Raises:
        TimeoutError: a collector was not built, did not answer, or was not replaced in time.
        UserCodeError: the called method raised an error, or its result cannot be sent. The message names the collector.
    """

    def __init__(self, consumer: Consumer, transport: FleetTransport, what: str, timeout: float) -> None:
        self._consumer = consumer
        self._transport = transport
        self._what = what
        self._timeout = timeout
        self._give_up = time.monotonic() + timeout
        self._were_there = False

    def names(self) -> list[str]:
        """Return the names of the built collectors, in order. Block until all expected collectors are built."""
        return sorted(self._there(), key=lambda name: int(name[1:]))

    def call_all(self, method: str, arguments: Mapping[str, tuple[Any, ...]] | None = None) -> dict[str, Any]:
        """Call ``method`` in several collectors at the same time. Return the answers by the collectors' names.

        ``arguments`` maps names of collectors to their arguments. Only these collectors are called. None: call all
        collectors without arguments. If a lost collector is not replaced, the result has no answer of this collector.
        """
        there = self._there()
        given = dict.fromkeys(there, ()) if arguments is None else {n: arguments[n] for n in arguments if n in there}
        asked = {name: self._ask(there[name], method, given[name]) for name in given}
        found = {}
        for name, call in asked.items():
            for answer in self._answers(there[name], call, method, given[name]):
                found[name] = answer
        return found

    def call_one(self, name: str, method: str, *arguments: Any) -> list[Any]:
        """Return a list with the answer of one collector.

        The list is empty if the collector is lost and not replaced.
        """
        id_ = self._there().get(name)
        return [] if id_ is None else self._answers(id_, self._ask(id_, method, arguments), method, arguments)

    def _answers(self, id_: CollectorId, asked: Any, method: str, arguments: tuple[Any, ...]) -> list[Any]:
        while True:
            match self._answer(id_, asked):
                case Returned(value):
                    return [value]
                case Failed(cause, traceback):
                    raise UserCodeError(f"{self._what} (collector {id_})", cause, traceback)
            # The collector is lost. The gather thread also gets a message about the loss, and replaces the collector.
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
            raise TimeoutError(f"{self._what}: no answer from {id_} within {self._timeout:g} s") from error

    def _there(self) -> dict[str, CollectorId]:
        try:
            there = wait_built(self._consumer.shared, self._left())
        except TimeoutError as error:
            raise TimeoutError(
                f"{self._what}: not all collectors are built after {self._timeout:g} s: {error}; pass a longer "
                "timeout, or call resize()"
            ) from error
        if not self._were_there:
            # The time for answers begins now. So a collector that is built late does not shorten the time for the other
            # collectors' answers.
            self._were_there, self._give_up = True, time.monotonic() + self._timeout
        return there

    def _ask(self, id_: CollectorId, method: str, arguments: tuple[Any, ...]) -> Any:
        return self._transport.ask(id_, method, *arguments)

    def _left(self) -> float:
        return max(0.0, self._give_up - time.monotonic())
