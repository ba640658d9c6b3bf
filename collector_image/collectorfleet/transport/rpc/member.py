"""The process of one collector: :class:`collectorfleet.actor.server.CollectorServer` behind an agent of RPC.

What the driver tells it comes by short calls, which only take note of it. One thread builds and runs; one waits for
what was loaded; one fetches weights; one says what there is to say, by one call after another, so that nothing passes
what was said before it. Frames are copied first: TorchRL's collector writes the next rollout into the memory of this.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from typing import Any, Final

from ray import cloudpickle
from torch import Tensor
from torch.distributed import rpc

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.server import FRAMES, CollectorServer
from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.messages import POLICY, Answer, Applied, CollectorId, Message, Raised
from collectorfleet.transport import packed
from collectorfleet.transport.distributed import control
from collectorfleet.transport.distributed.asking import reply
from collectorfleet.transport.distributed.user_objects import config_of
from collectorfleet.transport.rpc import station
from collectorfleet.transport.rpc.agent import DRIVER, Agent, is_late
from collectorfleet.transport.rpc.fetcher import Fetcher
from collectorfleet.transport.rpc.in_order import InOrder
from collectorfleet.transport.rpc.options import TensorPipeOptions

# The exit code of a process whose call came too late: that of timeout(1).
LATE: Final = 124
# The connection to a driver that ends may be gone a moment before its process is.
_NOTICE_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Place:
    """What a process is told when it begins: who it is, and where the driver is.

    ``visible`` is which GPUs it sees, as in CUDA_VISIBLE_DEVICES; None: those of the driver.
    """

    collector: CollectorId
    number: int
    key: str
    driver: str
    options: TensorPipeOptions
    visible: str | None


@dataclass(frozen=True)
class Frames:
    """An answer whose arrays are beside it, packed."""

    answer: Answer
    layout: packed.Layout


@dataclass(frozen=True)
class Header:
    """A snapshot whose arrays are beside it, packed."""

    bare: Snapshot
    layout: packed.Layout


def member(place: Place) -> None:
    """Serve the driver until it ends; blocks until then, and ends the process."""
    global _member
    if place.visible is not None:
        # Nothing has asked for CUDA yet.
        os.environ["CUDA_VISIBLE_DEVICES"] = place.visible
    threading.Thread(target=_end_with_the_driver, daemon=True).start()
    agent = Agent(place.options, name=station.name_of(place.number), number=place.number, driver=place.driver)
    _member = made = _Member(place)
    made.serve(_call(station.join, place.key, place.number, agent.address))


def obey(number: int, pickled: bytes) -> None:
    """The driver calls this once the collector has joined. It waits for nobody."""
    if _member is None:
        raise RuntimeError("a collector was told something before it had joined")
    _member.obey(number, cloudpickle.loads(pickled))


class _Member:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._order = InOrder()
        self._ordering = threading.Lock()
        self._works: queue.SimpleQueue[Callable[[], Message | control.Replied]] = queue.SimpleQueue()
        self._says: queue.SimpleQueue[tuple[bytes, Tensor | None]] = queue.SimpleQueue()
        self._server: CollectorServer
        self.fetcher: Fetcher

    def serve(self, pickled: bytes | None) -> None:
        if pickled is None:
            os._exit(0)  # it was stopped before it came
        build: control.Build = cloudpickle.loads(pickled)
        config = config_of(self._place.collector, build)
        if isinstance(config, Raised):
            self._say(config)
        else:
            self._begin(build, config)
        while True:
            said, beside = self._says.get()
            _call(station.hear, self._place.key, said, beside)

    def _begin(self, build: control.Build, config: CollectorConfig) -> None:
        self._server = CollectorServer(self._place.collector, config)
        self.fetcher = Fetcher(self._fetch, self._server.offer)
        self._say(self._server.placed())
        self._works.put(lambda: self._server.build(build.seed, seed_environment=build.seed_environment))
        for loop in (self._work, self._stand, self.fetcher.serve):
            threading.Thread(target=self._tell_of_its_end, args=(loop,), daemon=True).start()

    def obey(self, number: int, said: Any) -> None:
        with self._ordering:
            for due in self._order.take(number, said):
                self._hear(due)

    def _hear(self, said: Any) -> None:
        match said:
            case control.Run(request, along):
                awaited = None if along is None else self.fetcher.wanted(along)
                self._works.put(lambda: self._server.run(request, None if awaited is None else awaited.result()))
            case control.Ask() as asked:
                self._works.put(lambda: reply(self._server, asked))
            case control.Offered() as offered:
                self.fetcher.offered(offered)
            case control.CutShort(request_id):
                self._server.cut_short(request_id)

    def _tell_of_its_end(self, loop: Callable[[], None]) -> None:
        # Without one of them this process would live, and say nothing, until the driver loses patience.
        try:
            loop()
        except BaseException as error:  # noqa: BLE001  (Python says nothing of a thread that ends by SystemExit)
            traceback.print_exception(error)
            self._say(self._server.lost(error))

    def _work(self) -> None:
        while True:
            said = self._works.get()()
            if isinstance(said, Answer) and said.payload is not None:
                try:
                    self._announce(said)
                except Exception as error:  # noqa: BLE001  (entries of frames may be of any class, which may not pickle)
                    self._say(self._server.failure(error, FRAMES))
            else:
                self._say(said)

    def _announce(self, answer: Answer) -> None:
        encoded = answer.payload.encoded
        layout, beside = packed.pack(encoded.arrays)
        bare = replace(answer, payload=replace(answer.payload, encoded=replace(encoded, arrays=[])))
        self._says.put((cloudpickle.dumps(Frames(bare, layout)), beside))

    def _stand(self) -> None:
        seen = 0
        while (said := self._server.next_applied(POLICY, seen)) is not None:
            self._say(said)
            if isinstance(said, Applied):
                seen = said.version

    def _say(self, said: Message | control.Replied) -> None:
        written = cloudpickle.dumps(said if isinstance(said, control.Replied) else control.Said(said))
        self._says.put((written, None))

    def _fetch(self, parcel: int) -> Snapshot | None:
        found = _call(station.fetch, self._place.key, parcel)
        if found is None:
            return None
        header: Header = cloudpickle.loads(found[0])
        return replace(header.bare, arrays=header.layout.views(found[1]))


_member: _Member | None = None


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """One of the driver's functions, with the agent's deadline. Without an answer there is nothing left to do."""
    try:
        return rpc.rpc_sync(DRIVER, function, args=arguments)
    except Exception as error:  # noqa: BLE001  (of the driver's function too, which may raise anything)
        if wait([_driver()], _NOTICE_SECONDS):
            os._exit(0)
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(LATE if is_late(error) else 1)


def _end_with_the_driver() -> None:
    """A rollout may run for ever, and nobody would hear of it."""
    wait([_driver()])
    os._exit(0)


def _driver() -> int:
    """What is ready once its process has ended."""
    parent: Any = multiprocessing.parent_process()
    return int(parent.sentinel)
