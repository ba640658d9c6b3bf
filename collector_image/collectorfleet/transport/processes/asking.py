"""Calls of a collector's methods between two rollouts: the driver's side and the collector's side."""

from __future__ import annotations

import itertools
import threading
import traceback
from concurrent.futures import Future
from dataclasses import dataclass, field

from ray import cloudpickle

from collectorfleet.actor.server import CollectorServer
from collectorfleet.errors import describe
from collectorfleet.messages import CollectorId, Failed, Returned
from collectorfleet.transport.processes.control import Ask, Replied


@dataclass(frozen=True, eq=False)
class PendingCall:
    """A call of a collector's method. The result of ``answer`` is None if the collector is lost."""

    collector: CollectorId
    number: int
    answer: Future[Returned | Failed | None] = field(default_factory=Future)


class PendingCalls:
    """The driver's calls without an answer. Any thread may call the methods."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._asked: dict[int, PendingCall] = {}

    def expect(self, collector: CollectorId) -> PendingCall:
        """Register a call to that collector."""
        asked = PendingCall(collector, next(self._numbers))
        with self._lock:
            self._asked[asked.number] = asked
        return asked

    def replied(self, reply: Replied) -> None:
        with self._lock:
            asked = self._asked.pop(reply.number, None)
        if asked is not None:
            asked.answer.set_result(_read(reply.pickled))

    def lost(self, collector: CollectorId) -> None:
        """Resolve all calls to that collector with None."""
        with self._lock:
            gone = [asked for asked in self._asked.values() if asked.collector == collector]
            for asked in gone:
                del self._asked[asked.number]
        for asked in gone:
            asked.answer.set_result(None)


def reply(server: CollectorServer, asked: Ask) -> Replied:
    """Execute the call on the collector, and return its reply. Blocks for as long as the method takes."""
    try:
        arguments = cloudpickle.loads(asked.arguments)
        pickled = cloudpickle.dumps(Returned(getattr(server, asked.method)(*arguments)))
    except BaseException as error:  # noqa: BLE001  (the user's code may raise anything)
        pickled = cloudpickle.dumps(_failed(error))
    return Replied(asked.number, pickled)


def _read(pickled: bytes) -> Returned | Failed:
    try:
        found: Returned | Failed = cloudpickle.loads(pickled)
    except Exception as error:  # noqa: BLE001  (the object's class may not exist in this process)
        return _failed(error)
    return found


def _failed(error: BaseException) -> Failed:
    return Failed(describe(error), "".join(traceback.format_exception(error)))
