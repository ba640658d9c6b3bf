"""The process of one collector: :class:`collectorfleet.actor.server.CollectorServer` behind an agent of RPC.

The driver's calls are short, because they only queue messages. One thread builds the collector and runs its rollouts. A
second thread reports loaded weights, and a third thread fetches new weights. A fourth thread sends all messages, one
call after another, so that the messages arrive in order. Frames are copied first, because TorchRL's collector writes
the next rollout into the same memory.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any, Final

from ray import cloudpickle
from torch import Tensor
from torch.distributed import rpc

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.server import CollectorServer
from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.messages import Answer, CollectorId, Raised
from collectorfleet.transport.processes import control
from collectorfleet.transport.processes.frames import Frames
from collectorfleet.transport.processes.parcel import Header
from collectorfleet.transport.processes.serving import Serving
from collectorfleet.transport.processes.user_objects import config_of
from collectorfleet.transport.rpc import station
from collectorfleet.transport.rpc.agent import DRIVER, Agent, is_late
from collectorfleet.transport.rpc.fetcher import Fetcher
from collectorfleet.transport.rpc.in_order import InOrder
from collectorfleet.transport.rpc.options import TensorPipeOptions

# The exit code of a process whose call exceeded its timeout. timeout(1) has the same exit code.
LATE: Final = 124
# When the driver ends, the connection may break shortly before the driver's process ends.
_NOTICE_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Place:
    """The start arguments of a process: its collector, and the driver's address.

    ``visible`` is the ``CUDA_VISIBLE_DEVICES`` of the process. None: the process sees the driver's GPUs.
    """

    collector: CollectorId
    number: int
    key: str
    driver: str
    options: TensorPipeOptions
    visible: str | None


def member(place: Place) -> None:
    """Serve the driver until the driver ends. Then end this process."""
    global _member
    if place.visible is not None:
        # CUDA is not initialized yet.
        os.environ["CUDA_VISIBLE_DEVICES"] = place.visible
    threading.Thread(target=_end_with_the_driver, daemon=True).start()
    agent = Agent(place.options, name=station.name_of(place.number), number=place.number, driver=place.driver)
    _member = made = _Member(place)
    made.serve(_call(station.join, place.key, place.number, agent.address))


def queue_message(number: int, pickled: bytes) -> None:
    """Queue a message. The driver calls this when the collector has joined. Does not block."""
    if _member is None:
        raise RuntimeError("a collector got a request before it joined")
    _member.queue_message(number, cloudpickle.loads(pickled))


class _Member:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._order = InOrder()
        self._ordering = threading.Lock()
        self._says: queue.SimpleQueue[tuple[bytes, Tensor | None]] = queue.SimpleQueue()
        self._server: CollectorServer
        self._serving: Serving
        self.fetcher: Fetcher

    def serve(self, pickled: bytes | None) -> None:
        if pickled is None:
            os._exit(0)  # the collector was stopped before it joined
        build: control.Build = cloudpickle.loads(pickled)
        config = config_of(self._place.collector, build)
        if isinstance(config, Raised):
            self._say(control.MemberMessage(config))
        else:
            self._begin(build, config)
        while True:
            said, beside = self._says.get()
            _call(station.hear, self._place.key, said, beside)

    def _begin(self, build: control.Build, config: CollectorConfig) -> None:
        self._server = CollectorServer(self._place.collector, config)
        self.fetcher = Fetcher(self._fetch, self._server.offer)
        self._serving = Serving(self._server, self._say, self._announce)
        self._serving.begin(build, self.fetcher.serve)

    def queue_message(self, number: int, said: Any) -> None:
        with self._ordering:
            for due in self._order.take(number, said):
                self._handle_message(due)

    def _handle_message(self, said: Any) -> None:
        match said:
            case control.Run(request, request_weights):
                self._serving.run(
                    request, None if request_weights is None else self.fetcher.wanted(request_weights).result
                )
            case control.Ask() as asked:
                self._serving.ask(asked)
            case control.Offered() as offered:
                self.fetcher.offered(offered)
            case control.CutShort(request_id):
                self._server.cut_short(request_id)

    def _announce(self, answer: Answer) -> None:
        frames, beside = Frames.of(answer)
        self._says.put((cloudpickle.dumps(frames), beside))

    def _say(self, said: control.MemberMessage | control.Replied) -> None:
        self._says.put((cloudpickle.dumps(said), None))

    def _fetch(self, parcel: int) -> Snapshot | None:
        found = _call(station.fetch, self._place.key, parcel)
        if found is None:
            return None
        header: Header = cloudpickle.loads(found[0])
        return header.complete(found[1])


_member: _Member | None = None


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call one of the driver's functions with the agent's timeout. If the call fails, end the process."""
    try:
        return rpc.rpc_sync(DRIVER, function, args=arguments)
    except Exception as error:  # noqa: BLE001  (the driver's function may raise anything, too)
        if wait([_driver()], _NOTICE_SECONDS):
            os._exit(0)
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(LATE if is_late(error) else 1)


def _end_with_the_driver() -> None:
    """End this process when the driver ends. A rollout may run forever, and nobody waits for the result."""
    wait([_driver()])
    os._exit(0)


def _driver() -> int:
    """Return a file descriptor that becomes readable when the driver's process ends."""
    parent: Any = multiprocessing.parent_process()
    return int(parent.sentinel)
