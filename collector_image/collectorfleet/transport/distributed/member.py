"""The process of one collector in a gang: :class:`collectorfleet.actor.server.CollectorServer` on four threads.

The first thread receives the driver's messages. The second thread builds the collector and runs its rollouts. The third
thread reports loaded weights. Only the fourth thread uses the process group, in the order of the driver's messages.
So a rollout continues while weights arrive or the gang is formed again. The member stores frames until the driver has
acknowledged them, so a broken gang loses no frames.
"""

from __future__ import annotations

import os
from typing import Any

from collectorfleet.actor.server import CollectorServer
from collectorfleet.errors import describe
from collectorfleet.messages import CollectorId, Raised
from collectorfleet.transport.distributed.exchange import Awaited, Exchange, Parcels
from collectorfleet.transport.distributed.link import Address, Link, dial
from collectorfleet.transport.processes import control
from collectorfleet.transport.processes.serving import Serving
from collectorfleet.transport.processes.user_objects import config_of


def member(collector: CollectorId, address: Address, token: bytes) -> None:
    """Serve the driver at ``address`` until the driver ends. Then end this process.

    Raises SystemExit if the driver cannot be reached.
    """
    try:
        link = dial(address, token)
    except (EOFError, OSError) as error:
        host, port = address
        raise SystemExit(
            f"collector {collector}: the driver at {host}:{port} cannot be reached: {describe(error)}; allow "
            "connections from this machine to all ports of the driver's machine"
        ) from error
    try:
        link.send_message(collector)
        _serve(link, collector, link.receive_message())
    except (EOFError, OSError):
        # The driver has ended. A rollout may run forever, and nobody waits for the result.
        os._exit(0)


def _serve(link: Link, collector: CollectorId, build: control.Build) -> None:
    """Build and serve the collector. Raises EOFError or OSError once the driver has ended."""
    config = config_of(collector, build)
    if isinstance(config, Raised):
        link.send_message(control.MemberMessage(config))
        while True:  # the driver ends this process when it gets the error
            link.receive_message()
    _Member(link, CollectorServer(collector, config)).serve(build)


class _Member:
    def __init__(self, link: Link, server: CollectorServer) -> None:
        self._link = link
        self._server = server
        self._parcels = Parcels()
        self._exchange = Exchange(link, self._parcels, server.offer)
        self._serving = Serving(server, link.send_message, self._exchange.announce)

    def serve(self, build: control.Build) -> None:
        self._serving.begin(build, self._exchange.serve)
        while True:
            self._handle_message(self._link.receive_message())

    def _handle_message(self, said: Any) -> None:
        match said:
            case control.Run(request, request_weights):
                self._serving.run(request, None if request_weights is None else self._awaited(request_weights).offer)
            case control.Ask() as asked:
                self._serving.ask(asked)
            case control.Offered() as offered:
                self._exchange.commands.put(self._awaited(offered))
            case control.CutShort(request_id):
                self._server.cut_short(request_id)
            case _:
                self._exchange.commands.put(said)

    def _awaited(self, offered: control.Offered) -> Awaited:
        # The parcels are looked up now, because the driver may drop a parcel before the rollout uses it.
        also = None if offered.normalization is None else self._parcels[offered.normalization]
        return Awaited(offered.policy, offered.version, self._parcels[offered.weights], also)
