"""Collectors in processes that a launcher starts. Together with the driver they form one gang.

The connection to each collector carries small messages, and the end of the connection shows that the collector has
died. The process group carries frames and weights. The death of a collector breaks only the process group. The rollouts
of the other collectors continue while a new gang is formed.
"""

from __future__ import annotations

import traceback
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ray import cloudpickle

from collectorfleet.actor.origin import Origin
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.errors import describe
from collectorfleet.messages import CollectorId, Failed, Lost, Message, Raised, Request, Returned, Stored, Weights
from collectorfleet.transport.distributed.courier import Courier
from collectorfleet.transport.distributed.launcher import Launcher
from collectorfleet.transport.distributed.link import Link, Listener, Unreadable
from collectorfleet.transport.processes import control
from collectorfleet.transport.processes.asking import PendingCall, PendingCalls
from collectorfleet.transport.processes.launched import Launched
from collectorfleet.transport.processes.mailbox import Mailbox
from collectorfleet.transport.processes.parcel import Parcel, offered, parcels
from collectorfleet.transport.processes.user_objects import Builds, ConfigOf
from collectorfleet.transport.processes.watches import ProcessWatches


@dataclass
class _Collector:
    """A started collector. ``link`` is set when the collector's process has connected."""

    build: control.Build
    process: Launched | None = None
    link: Link | None = None


class DistributedTransport:
    """A transport over a process group of torch.distributed.

    ``config_of`` returns the configuration of the collector in a slot. ``policy`` is the policy of all
    collectors that use no inference service. The seeds of each collector are derived from ``seed``, the fleet's seed.
    """

    name = "TorchDistributed"

    def __init__(self, config_of: ConfigOf, launcher: Launcher, *, policy: Any, seed: int) -> None:
        self._builds = Builds(config_of, policy, seed)
        launcher.claim()
        self._launcher = launcher
        self._collectors: dict[CollectorId, _Collector] = {}
        self._unanswered = PendingCalls()
        self._followed: weakref.WeakSet[Parcel] = weakref.WeakSet()
        self._mailbox = Mailbox()
        self._watches = ProcessWatches()
        self._courier = Courier(launcher.host, self._mailbox.put)
        self._listener = Listener((launcher.host, 0), launcher.token)
        self._hashing = ThreadPoolExecutor(1, "weights-digest")
        self._listener.serve(self._handle_peer)

    def start(self, collector: CollectorId) -> None:
        # The process may connect at once, so the collector is registered first.
        self._collectors[collector] = started = _Collector(self._builds.of(collector))
        started.process = self._launcher.launch(collector, self._listener.address)
        self._watches.begin(self._watch, collector, started.process)

    def put(self, snapshot: snapshots.Snapshot) -> Stored:
        parcel = Parcel.of(snapshot)
        self._forget_with(parcel)
        hashed = self._hashing.submit(snapshots.digest, parcel.snapshot.arrays)
        return Stored(hashed, snapshot.size_bytes, parcel)

    def _forget_with(self, parcel: Parcel) -> None:
        """When Python frees the parcel here, let members delete it. No later offer can use a freed parcel."""
        if parcel not in self._followed:
            self._followed.add(parcel)
            # The callback holds only the number, because a reference to the parcel would keep it alive.
            weakref.finalize(parcel, self._courier.drop, parcel.number).atexit = False

    def offer(self, collector: CollectorId, weights: Weights) -> None:
        self._courier.offer(collector, weights.policy, parcels(weights))
        self._say(collector, offered(weights))

    def submit(self, collector: CollectorId, request: Request, weights: Weights | None = None) -> None:
        if weights is not None:
            for parcel in parcels(weights):
                self._forget_with(parcel)  # evaluators get parcels that the collectors' transport stored
            if request.version is None:
                self._courier.offer(collector, weights.policy, parcels(weights))
            self._courier.request(collector, parcels(weights))
        self._say(collector, control.Run(request, None if weights is None else offered(weights)))

    def cut_short(self, collector: CollectorId, request_id: int) -> None:
        self._say(collector, control.CutShort(request_id))

    def ask(self, collector: CollectorId, method: str, *args: Any) -> PendingCall | None:
        written = cloudpickle.dumps(args)
        asked = self._unanswered.expect(collector)
        # Look up the collector after `expect`. Otherwise a stop between the two would leave the answer unresolved.
        known = self._collectors.get(collector)
        if known is None or known.link is None:
            self._unanswered.lost(collector)
            return None
        known.link.send_message(control.Ask(asked.number, method, written))
        return asked

    def answer(self, asked: PendingCall, timeout: float) -> Returned | Failed | None:
        return asked.answer.result(timeout)

    def read(self, stored: Stored) -> snapshots.Snapshot:
        parcel: Parcel = stored.handle
        return parcel.snapshot

    def seed_later_incarnations(self, seed: int) -> None:
        self._builds.seed_environments(seed)

    def handles(self) -> list[Launched]:
        return [one.process for one in list(self._collectors.values()) if one.process is not None]

    def stop(self, collector: CollectorId) -> None:
        stopped = self._collectors.pop(collector, None)
        if stopped is not None and stopped.process is not None:
            self._courier.leave(collector)
            stopped.process.kill()
            if stopped.link is not None:
                stopped.link.close()  # the process then ends even if no host can kill it
        self._unanswered.lost(collector)

    def wait(self, timeout: float) -> Sequence[Message]:
        return self._mailbox.wait(timeout, self._collectors)

    def wake(self) -> None:
        self._mailbox.wake()

    def close(self) -> None:
        for collector in list(self._collectors):
            self.stop(collector)
        self._listener.close()
        self._courier.close()
        self._launcher.close()
        self._watches.join()

    def _say(self, collector: CollectorId, said: object) -> None:
        link = self._collectors[collector].link
        if link is None:
            raise RuntimeError(f"{collector} got a request before its process joined")
        link.send_message(said)

    def _handle_peer(self, link: Link, collector: CollectorId) -> None:
        """Handle the messages of a collector until its connection ends."""
        known = self._collectors.get(collector)
        if known is None:
            return  # the collector was stopped before it connected
        link.send_message(known.build)
        known.link = link
        self._courier.join(collector, link)
        if collector not in self._collectors:
            link.close()  # a concurrent stop did not see the link
        while True:
            try:
                said = link.receive_message()
            except (EOFError, OSError):
                self._courier.leave(collector)
                self._unanswered.lost(collector)
                return
            except Unreadable as error:
                self._mailbox.put(_unreadable(collector, error))
                continue
            match said:
                case control.MemberMessage(message):
                    self._mailbox.put(message)
                case control.Replied():
                    self._unanswered.replied(said)
                case _:
                    self._courier.handle_message(collector, said)

    def _watch(self, collector: CollectorId, process: Launched) -> None:
        ended = process.wait_for_end()
        self._mailbox.put(Lost(collector, ended.cause, ended.fault))


def _unreadable(collector: CollectorId, error: Unreadable) -> Raised:
    text = "".join(traceback.format_exception(error))
    return Raised(collector, f"reading the {Origin.FRAMES} in the driver", describe(error.__cause__ or error), text)
