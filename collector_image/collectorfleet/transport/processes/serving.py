"""The threads of a collector's process that send no data themselves.

One thread builds the collector and runs its rollouts. Another thread waits until weights are loaded, and reports this.
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable

from collectorfleet.actor.inbox import Offer
from collectorfleet.actor.origin import Origin
from collectorfleet.actor.server import CollectorServer
from collectorfleet.messages import POLICY, Answer, Applied, Message, Request
from collectorfleet.transport.processes.asking import reply
from collectorfleet.transport.processes.control import Ask, Build, MemberMessage, Replied

Say = Callable[[MemberMessage | Replied], None]


class Serving:
    """Serves one collector. Passes answers with frames to ``announce``, and all other messages to ``say``.

    Several threads call both functions. An exception of ``announce`` is reported as a fault of the frames.
    """

    def __init__(self, server: CollectorServer, say: Say, announce: Callable[[Answer], None]) -> None:
        self._server = server
        self._say = say
        self._announce = announce
        self._works: queue.SimpleQueue[Callable[[], Message | Replied]] = queue.SimpleQueue()

    def begin(self, build: Build, *others: Callable[[], None]) -> None:
        """Build the collector, and start a thread for each function of ``others``.

        These threads end with the process.
        """
        self._say(MemberMessage(self._server.placed()))
        self._works.put(lambda: self._server.build(build.seed, seed_environment=build.seed_environment))
        for loop in (self._work, self._report_applied, *others):
            threading.Thread(target=self._report_crash, args=(loop,), daemon=True).start()

    def run(self, request: Request, request_weights: Callable[[], Offer] | None) -> None:
        """Queue a rollout, which uses the weights that ``request_weights`` returns. ``request_weights`` may block."""
        self._works.put(lambda: self._server.run(request, None if request_weights is None else request_weights()))

    def ask(self, asked: Ask) -> None:
        """Queue a call of a method of the server."""
        self._works.put(lambda: reply(self._server, asked))

    def _work(self) -> None:
        while True:
            said = self._works.get()()
            if isinstance(said, Replied):
                self._say(said)
            elif isinstance(said, Answer) and said.payload is not None:
                try:
                    self._announce(said)
                except Exception as error:  # noqa: BLE001  (frames may contain objects that cannot be pickled)
                    self._say(MemberMessage(self._server.failure(error, Origin.FRAMES)))
            else:
                self._say(MemberMessage(said))

    def _report_applied(self) -> None:
        seen = 0
        while (said := self._server.next_applied(POLICY, seen)) is not None:
            self._say(MemberMessage(said))
            if isinstance(said, Applied):
                seen = said.version

    def _report_crash(self, loop: Callable[[], None]) -> None:
        # If a loop ended silently, the process would live and send nothing until the driver's timeout.
        try:
            loop()
        except BaseException as error:  # noqa: BLE001  (Python prints nothing if a thread ends by SystemExit)
            traceback.print_exception(error)
            self._say(MemberMessage(self._server.lost(error)))
