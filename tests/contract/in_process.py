"""A transport whose collectors are threads of this process: proof that the contract is one, and no more than that.

Each collector is the server that a Ray actor wraps, on the three threads that it asks for.
"""

from __future__ import annotations

import contextlib
import copy
import pickle
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tests.stored import stored

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.inbox import Offer
from collectorfleet.actor.server import CollectorServer
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.errors import describe
from collectorfleet.messages import (
    POLICY,
    Answer,
    Applied,
    CollectorId,
    Failed,
    Fault,
    Lost,
    Message,
    Request,
    Returned,
    Stored,
    Weights,
)
from collectorfleet.transport.processes.mailbox import Mailbox

M = TypeVar("M")
Call = Callable[[], Message | None]


class InProcess:
    """``config_of`` says what the collector in a slot is made of."""

    name = "InProcess"

    def __init__(self, config_of: Callable[[str], CollectorConfig], seed: int = 0) -> None:
        self._config_of = config_of
        self._seed = seed
        self._hosts: dict[CollectorId, _Host] = {}
        self._said = Mailbox()
        self._lose: set[int] = set()
        self._seed_environments = False

    def start(self, collector: CollectorId) -> None:
        # A collector has a policy of its own, as one in another process has.
        config = copy.deepcopy(self._config_of(collector.name))
        host = self._hosts[collector] = _Host(CollectorServer(collector, config), self._said.put)
        host.hears.put(host.server.placed)
        host.works.put(lambda: host.server.build(self._seed, seed_environment=self._seed_environments))

    def put(self, snapshot: snapshots.Snapshot) -> Stored:
        kept = replace(snapshot, arrays=[array.copy() for array in snapshot.arrays])
        return stored(snapshots.digest(kept.arrays), kept.size_bytes, kept)

    def offer(self, collector: CollectorId, weights: Weights) -> None:
        host = self._hosts[collector]
        host.hears.put(lambda: host.server.offer(weights.policy, _offer(weights)))

    def submit(self, collector: CollectorId, request: Request, weights: Weights | None = None) -> None:
        host, along = self._hosts[collector], weights and _offer(weights)
        host.works.put(lambda: _travelled(host.server.run(request, along)))

    def cut_short(self, collector: CollectorId, request_id: int) -> None:
        host = self._hosts[collector]
        host.hears.put(lambda: host.server.cut_short(request_id))

    def stop(self, collector: CollectorId) -> None:
        host = self._hosts.pop(collector, None)
        if host is not None:
            host.end()

    def wait(self, timeout: float) -> Sequence[Message]:
        return [self._unless_lost(one) for one in self._said.wait(timeout, self._hosts)]

    def wake(self) -> None:
        self._said.wake()

    def close(self) -> None:
        for collector in list(self._hosts):
            self.stop(collector)

    # ---------------------------------------------------------------- what a fleet asks beside
    def ask(self, collector: CollectorId, method: str, *args: Any) -> Asked | None:
        host = self._hosts.get(collector)
        if host is None:
            return None
        asked = Asked(collector)
        host.asked.append(asked)
        host.works.put(lambda: asked.reply(getattr(host.server, method), args))
        if collector not in self._hosts:
            asked.lost()
        return asked

    def answer(self, asked: Asked, timeout: float) -> Returned | Failed | None:
        return asked.answer.result(timeout)

    def read(self, stored: Stored) -> snapshots.Snapshot:
        kept: snapshots.Snapshot = stored.handle
        return kept

    def seed_later_incarnations(self, seed: int) -> None:
        self._seed, self._seed_environments = seed, True

    def handles(self) -> list[Any]:
        return list(self._hosts.values())

    # ---------------------------------------------------------------- faults
    def kill(self, collector: CollectorId) -> None:
        """Its process is gone: it says nothing more, and somebody notices."""
        self._hosts[collector].end()
        self._said.put(Lost(collector, "the process was killed"))

    def lose(self, request_id: int) -> None:
        """The answer to that request cannot be read when it comes."""
        self._lose.add(request_id)

    def settle(self, collector: CollectorId) -> None:
        """Block until the collector has heard what it was told beside its requests."""
        heard = threading.Event()
        self._hosts[collector].hears.put(heard.set)
        heard.wait()

    def _unless_lost(self, message: Message) -> Message:
        if isinstance(message, Answer) and message.request_id in self._lose:
            return Lost(message.collector, "the object is lost", Fault.DIED, message.request_id)
        return message


def _travelled(message: M) -> M:
    """A copy, as what comes from another process is: the memory of a rollout is used again by the next one."""
    found: M = pickle.loads(pickle.dumps(message))
    return found


def _offer(weights: Weights) -> Offer:
    normalization = weights.normalization
    return Offer(weights.version, weights.stored.handle, normalization and normalization.handle)


@dataclass(eq=False)
class Asked:
    """``answer`` is None once the collector is lost."""

    collector: CollectorId
    answer: Future[Returned | Failed | None] = field(default_factory=Future)

    def reply(self, method: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """The collector's side."""
        try:
            found: Returned | Failed = Returned(copy.deepcopy(method(*arguments)))
        except Exception as error:  # noqa: BLE001  (the user's code may raise anything)
            found = Failed(describe(error), "")
        self._say(found)

    def lost(self) -> None:
        self._say(None)

    def _say(self, found: Returned | Failed | None) -> None:
        with contextlib.suppress(InvalidStateError):  # it was lost while it replied
            self.answer.set_result(found)


class _Host:
    """The threads of one collector."""

    def __init__(self, server: CollectorServer, say: Callable[[Message], None]) -> None:
        self.server = server
        self.works: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self.hears: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self.asked: list[Asked] = []
        self._say = say
        self._over = threading.Event()
        for target, arguments in ((self._serve, (self.works,)), (self._serve, (self.hears,)), (self._stand, ())):
            threading.Thread(target=target, args=arguments, daemon=True).start()

    def end(self) -> None:
        self._over.set()
        self.works.put(None)
        self.hears.put(None)
        self.server.close()
        for asked in self.asked:
            asked.lost()

    def _serve(self, calls: queue.SimpleQueue[Call | None]) -> None:
        while (call := calls.get()) is not None and not self._over.is_set():
            self._unless_over(call())

    def _stand(self) -> None:
        seen = 0
        while not self._over.is_set():
            said = self.server.next_applied(POLICY, seen)
            self._unless_over(said)
            if isinstance(said, Applied):
                seen = said.version

    def _unless_over(self, said: Any) -> None:
        if said is not None and not self._over.is_set():
            self._say(said)
