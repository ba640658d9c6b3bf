"""Collectors in processes of this machine. Driver and collectors call each other by ``torch.distributed.rpc``.

Each call has the timeout ``rpc_timeout``, and no call waits for a rollout. The driver sends short calls. A collector
calls the driver to fetch weights and to send frames. The loss of a collector does not affect the others, because
collectors do not know each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ray import cloudpickle
from torch import Tensor
from torch._C._distributed_rpc import WorkerInfo
from torch.distributed import rpc

from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import (
    Answer,
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
from collectorfleet.transport.processes import control, forking
from collectorfleet.transport.processes.asking import PendingCall, PendingCalls
from collectorfleet.transport.processes.frames import Frames
from collectorfleet.transport.processes.launched import LocalProcess
from collectorfleet.transport.processes.mailbox import Mailbox
from collectorfleet.transport.processes.parcel import Parcel, offered, parcels
from collectorfleet.transport.processes.user_objects import Builds, ConfigOf
from collectorfleet.transport.processes.watches import ProcessWatches
from collectorfleet.transport.rpc import station
from collectorfleet.transport.rpc.agent import is_late
from collectorfleet.transport.rpc.member import LATE, Place, member, queue_message
from collectorfleet.transport.rpc.options import TensorPipeOptions

VisibleOf = Callable[[str], str | None]


@dataclass(eq=False)
class _Collector:
    """A started collector. ``info`` is set when the collector's process joins.

    The process may fetch ``offered`` and ``request_weights``.
    """

    build: control.Build
    number: int
    process: LocalProcess | None = None
    info: WorkerInfo | None = None
    said: int = 0  # number of calls
    offered: dict[str, list[Parcel]] = field(default_factory=dict)  # by policy
    request_weights: dict[int, list[Parcel]] = field(default_factory=dict)  # by request
    missed_call: str | None = None  # the call that the process did not accept in time

    def may_fetch(self, parcel: int) -> Parcel | None:
        held = (*self.offered.values(), *self.request_weights.values())
        return next((one for parcels in list(held) for one in parcels if one.number == parcel), None)


class RpcTransport:
    """A transport over ``torch.distributed.rpc``.

    ``config_of`` returns the configuration of the collector in a slot. ``visible_of`` returns the GPUs that are visible
    to this collector. ``policy`` is the policy of all collectors that use no inference service. The seeds of each
    collector are derived from ``seed``.
    """

    name = "RPC"

    def __init__(
        self,
        config_of: ConfigOf,
        visible_of: VisibleOf,
        options: Mapping[str, Any] | None,
        *,
        policy: Any,
        seed: int,
    ) -> None:
        self._builds = Builds(config_of, policy, seed)
        self._visible_of = visible_of
        self._collectors: dict[CollectorId, _Collector] = {}
        self._changing = threading.Lock()
        self._unanswered = PendingCalls()
        self._mailbox = Mailbox()
        self._watches = ProcessWatches()
        self._hashing = ThreadPoolExecutor(1, "weights-digest")
        self._station, self._key = station.register_transport(TensorPipeOptions.of(options), self)

    def start(self, collector: CollectorId) -> None:
        # The process may join at once, so the collector is registered first.
        self._collectors[collector] = started = _Collector(self._builds.of(collector), self._station.number())
        place = Place(
            collector,
            started.number,
            self._key,
            self._station.address,
            self._station.options,
            self._visible_of(collector.name),
        )
        started.process = LocalProcess(forking.begin(member, (place,), name=f"collector-{collector}"))
        self._watches.begin(self._watch, collector, started, started.process)

    def put(self, snapshot: snapshots.Snapshot) -> Stored:
        parcel = Parcel.of(snapshot)
        hashed = self._hashing.submit(snapshots.digest, parcel.snapshot.arrays)
        return Stored(hashed, snapshot.size_bytes, parcel)

    def offer(self, collector: CollectorId, weights: Weights) -> None:
        self._collectors[collector].offered[weights.policy] = parcels(weights)
        self._say(collector, offered(weights))

    def submit(self, collector: CollectorId, request: Request, weights: Weights | None = None) -> None:
        if weights is not None:
            self._collectors[collector].request_weights[request.id] = parcels(weights)
        self._say(collector, control.Run(request, None if weights is None else offered(weights)))

    def cut_short(self, collector: CollectorId, request_id: int) -> None:
        self._say(collector, control.CutShort(request_id))

    def ask(self, collector: CollectorId, method: str, *args: Any) -> PendingCall | None:
        written = cloudpickle.dumps(args)
        asked = self._unanswered.expect(collector)
        # Look up the collector after `expect`. Otherwise a stop between the two would leave the answer unresolved.
        known = self._collectors.get(collector)
        if known is None or known.info is None:
            self._unanswered.lost(collector)
            return None
        self._call_member(collector, known, known.info, control.Ask(asked.number, method, written))
        return asked

    def answer(self, asked: PendingCall, timeout: float) -> Returned | Failed | None:
        return asked.answer.result(timeout)

    def read(self, stored: Stored) -> snapshots.Snapshot:
        parcel: Parcel = stored.handle
        return parcel.snapshot

    def seed_later_incarnations(self, seed: int) -> None:
        self._builds.seed_environments(seed)

    def handles(self) -> list[LocalProcess]:
        return [one.process for one in list(self._collectors.values()) if one.process is not None]

    def stop(self, collector: CollectorId) -> None:
        with self._changing:
            stopped = self._collectors.pop(collector, None)
            if stopped is not None and stopped.info is not None:
                self._station.remove_member(stopped.info)
        if stopped is not None and stopped.process is not None:
            stopped.process.kill()
        self._unanswered.lost(collector)

    def wait(self, timeout: float) -> Sequence[Message]:
        return self._mailbox.wait(timeout, self._collectors)

    def wake(self) -> None:
        self._mailbox.wake()

    def close(self) -> None:
        for collector in list(self._collectors):
            self.stop(collector)
        station.unregister_transport(self._key)
        self._watches.join()

    # ------------------------------------------------- what collectors call, on threads of the agent
    def joined(self, number: int, address: str) -> bytes | None:
        with self._changing:
            for known in self._collectors.values():
                if known.number == number:
                    known.info = self._station.add_member(number, address)
                    build: bytes = cloudpickle.dumps(known.build)
                    return build
        return None

    def heard(self, pickled: bytes, beside: Tensor | None) -> None:
        said = cloudpickle.loads(pickled)
        match said:
            case control.MemberMessage(message):
                self._deliver(message)
            case control.Replied():
                self._unanswered.replied(said)
            case Frames() if beside is not None:
                self._deliver(said.complete(beside))

    def fetched(self, parcel: int) -> tuple[bytes, Tensor] | None:
        for known in list(self._collectors.values()):
            found = known.may_fetch(parcel)
            if found is not None:
                return cloudpickle.dumps(found.header), found.packed
        return None

    # ------------------------------------------------- the driver's own
    def _deliver(self, message: Message) -> None:
        known = self._collectors.get(message.collector)
        if known is not None and isinstance(message, Answer):
            known.request_weights.pop(message.request_id, None)
        self._mailbox.put(message)

    def _say(self, collector: CollectorId, said: object) -> None:
        known = self._collectors[collector]
        if known.info is None:
            raise RuntimeError(f"{collector} got a request before its process joined")
        self._call_member(collector, known, known.info, said)

    def _call_member(self, collector: CollectorId, known: _Collector, info: WorkerInfo, said: object) -> None:
        pickled = cloudpickle.dumps(said)  # first, because an error here must not use up a number
        with self._changing:
            known.said = number = known.said + 1
        try:
            call = rpc.rpc_async(info, queue_message, args=(number, pickled))
        except RuntimeError as error:
            self._handle_failed_call(collector, known, error)
        else:
            call.add_done_callback(lambda done: self._check_call(collector, known, done))

    def _check_call(self, collector: CollectorId, known: _Collector, call: Any) -> None:
        try:
            call.value()
        except RuntimeError as error:
            self._handle_failed_call(collector, known, error)

    def _handle_failed_call(self, collector: CollectorId, known: _Collector, error: RuntimeError) -> None:
        if collector not in self._collectors or known.process is None:
            return  # the collector was stopped meanwhile
        # Kill a late or broken collector. The exit of its process shows the cause better than this error.
        if is_late(error):
            known.missed_call = (
                f"did not accept the driver's call within {self._station.options.rpc_timeout:g} s (rpc_timeout)"
            )
        known.process.kill()

    def _watch(self, collector: CollectorId, started: _Collector, process: LocalProcess) -> None:
        ended = process.wait_for_end()
        self._unanswered.lost(collector)
        if started.missed_call is not None:
            self._mailbox.put(Lost(collector, started.missed_call, Fault.HUNG))
        elif process.exit_code == LATE:
            seconds = self._station.options.rpc_timeout
            cause = f"its call to the driver, with frames or weights, took longer than {seconds:g} s (rpc_timeout)"
            self._mailbox.put(Lost(collector, cause, Fault.HUNG))
        else:
            self._mailbox.put(Lost(collector, ended.cause, ended.fault))
