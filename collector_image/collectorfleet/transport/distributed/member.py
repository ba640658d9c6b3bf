"""The process of one collector in a gang: :class:`collectorfleet.actor.server.CollectorServer` on four threads.

One hears the driver. One builds and runs; one waits for what was loaded. One is alone with the process group, and does
what the driver says in the driver's order, so that a rollout goes on while weights arrive or the gang is formed anew.
Frames are kept until the driver has said that it has them: a gang that breaks costs none.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Any

from collectorfleet.actor.server import CollectorServer
from collectorfleet.messages import POLICY, Answer, Applied, CollectorId, Message
from collectorfleet.transport.distributed import control
from collectorfleet.transport.distributed.asking import reply
from collectorfleet.transport.distributed.exchange import Awaited, Exchange, Parcels
from collectorfleet.transport.distributed.link import Address, Link, dial


def member(collector: CollectorId, address: Address, token: bytes) -> None:
    """Serve the driver at ``address`` until it ends; blocks until then, and ends the process."""
    try:
        link = dial(address, token)
        link.say(collector)
        build: control.Build = link.hear()
        _Member(link, CollectorServer(collector, build.config)).serve(build)
    except (EOFError, OSError):
        # The driver is gone. A rollout may run for ever, and nobody would hear of it.
        os._exit(0)


class _Member:
    def __init__(self, link: Link, server: CollectorServer) -> None:
        self._link = link
        self._server = server
        self._parcels = Parcels()
        self._works: queue.SimpleQueue[Callable[[], Message | control.Replied]] = queue.SimpleQueue()
        self._exchange = Exchange(link, self._parcels, server.offer)

    def serve(self, build: control.Build) -> None:
        self._link.say(control.Said(self._server.placed()))
        self._works.put(lambda: self._server.build(build.seed, seed_environment=build.seed_environment))
        for loop in (self._work, self._stand, self._exchange.serve):
            threading.Thread(target=loop, daemon=True).start()
        while True:
            self._hear(self._link.hear())

    def _hear(self, said: Any) -> None:
        match said:
            case control.Run(request, along):
                awaited = None if along is None else self._awaited(along)
                self._works.put(lambda: self._server.run(request, None if awaited is None else awaited.offer()))
            case control.Ask() as asked:
                self._works.put(lambda: reply(self._server, asked))
            case control.Offered() as offered:
                self._exchange.commands.put(self._awaited(offered))
            case control.Call():
                self._link.say(control.Here())
            case control.CutShort(request_id):
                self._server.cut_short(request_id)
            case _:
                self._exchange.commands.put(said)

    def _awaited(self, offered: control.Offered) -> Awaited:
        # Looked up when it is heard of: the driver may say that a parcel will not be offered again before it is used.
        also = None if offered.normalization is None else self._parcels[offered.normalization]
        return Awaited(offered.policy, offered.version, self._parcels[offered.weights], also)

    def _work(self) -> None:
        while True:
            said = self._works.get()()
            if isinstance(said, Answer) and said.payload is not None:
                self._exchange.announce(said)
            elif isinstance(said, control.Replied):
                self._link.say(said)
            else:
                self._link.say(control.Said(said))

    def _stand(self) -> None:
        seen = 0
        while (said := self._server.next_applied(POLICY, seen)) is not None:
            self._link.say(control.Said(said))
            if isinstance(said, Applied):
                seen = said.version
