"""The transport over Ray actors and Ray's object store.

Weights are stored once for all collectors. The driver reads rollouts in the store without a copy.

The transport does not poll. Ray calls back when an answer arrives. The callback only queues the answer, and
:meth:`RayTransport.wait` converts it to a message on the gather thread. One call of each actor stays pending until
another version is loaded. If the actor dies, this call fails.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any

import ray

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.errors import InfrastructureError, describe
from collectorfleet.messages import (
    POLICY,
    Answer,
    Applied,
    CollectorId,
    Failed,
    Lost,
    Message,
    Request,
    Returned,
    Stored,
    Weights,
)
from collectorfleet.transport.ray.actor import CONCURRENCY_GROUPS, CollectorActor
from collectorfleet.transport.ray.faults import cause_of, fault_of
from collectorfleet.transport.ray.schemas import NO_SCHEMA, Known, SchemasKnown

ConfigOf = Callable[[str], CollectorConfig]
OptionsOf = Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class _Reply:
    """The reply to an actor's call: a request, the pending call of `next_applied`, or the build of the actor.

    ``known`` is the schema that the request named.
    """

    collector: CollectorId
    request_id: int | None
    known: Known
    future: Future[Any]


_WAKE = object()


class RayTransport:
    """A transport over Ray.

    ``config_of`` returns the configuration of the collector in a slot, and ``options_of`` returns its Ray options.
    ``policy`` is sent once for all collectors. The seeds of each collector are derived from ``seed``, the fleet's seed.
    """

    name = "ObjectStore"

    def __init__(self, config_of: ConfigOf, options_of: OptionsOf, *, policy: Any, seed: int) -> None:
        self._config_of = config_of
        self._options_of = options_of
        self._policy = ray.put(policy)
        self._seed = seed
        self._seeds_environments = False
        # All actors use one class, because Ray keeps each class in its head forever. Task events are off, because only
        # Ray's dashboard reads them.
        options: Any = {"enable_task_events": False, "concurrency_groups": CONCURRENCY_GROUPS}
        self._class: Any = ray.remote(**options)(CollectorActor)
        self._actors: dict[CollectorId, Any] = {}
        self._schemas = SchemasKnown()
        self._replies: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # The executor ends with this object, because a training thread may publish once more while another thread
        # closes the transport.
        self._hashing = ThreadPoolExecutor(1, "weights-digest")

    def start(self, collector: CollectorId) -> None:
        options = dict(self._options_of(collector.name))
        actor = self._class.options(**options).remote(collector, self._config_of(collector.name), self._policy)
        self._actors[collector] = actor
        self._expect(collector, actor.placed.remote())
        self._expect(collector, actor.build.remote(self._seed, self._seeds_environments))
        self._expect(collector, actor.next_applied.remote(POLICY, 0))

    def put(self, snapshot: snapshots.Snapshot) -> Stored:
        try:
            handle = ray.put(snapshot)
        except ray.exceptions.RayError as error:
            raise InfrastructureError.of("storing weights", error) from error
        return Stored(self._hashing.submit(_digest_of, handle), snapshot.size_bytes, handle)

    def offer(self, collector: CollectorId, weights: Weights) -> None:
        self._actors[collector].offer.remote(weights.policy, *_handles(weights))

    def submit(self, collector: CollectorId, request: Request, weights: Weights | None = None) -> None:
        along = () if weights is None else _handles(weights)
        known = self._schemas.newest(collector)
        call = self._actors[collector].run.remote(_values(request), known.number, *along)
        self._expect(collector, call, request.id, known)

    def cut_short(self, collector: CollectorId, request_id: int) -> None:
        self._actors[collector].cut_short.remote(request_id)

    def ask(self, collector: CollectorId, method: str, *args: Any) -> Any:
        actor = self._actors.get(collector)
        return None if actor is None else getattr(actor, method).remote(*args)

    def answer(self, asked: Any, timeout: float) -> Returned | Failed | None:
        try:
            return Returned(ray.get(asked, timeout=timeout))
        except ray.exceptions.GetTimeoutError as error:
            raise TimeoutError(str(error)) from error
        except ray.exceptions.RayTaskError as error:
            return Failed(describe(error.cause), str(error))
        except ray.exceptions.RayActorError:
            return None

    def read(self, stored: Stored) -> snapshots.Snapshot:
        return _read(stored.handle)

    def seed_later_incarnations(self, seed: int) -> None:
        self._seed, self._seeds_environments = seed, True

    def handles(self) -> list[Any]:
        return list(self._actors.values())

    def stop(self, collector: CollectorId) -> None:
        actor = self._actors.pop(collector, None)
        self._schemas.forget(collector)
        if actor is not None and ray.is_initialized():
            ray.kill(actor, no_restart=True)

    def wait(self, timeout: float) -> Sequence[Message]:
        try:
            found = [self._replies.get(timeout=timeout)]
        except queue.Empty:
            found = []
        if not ray.is_initialized():
            # Any further call would start a new Ray on this machine.
            raise InfrastructureError("Ray was shut down while collectors ran: ray.shutdown() ends them all")
        while not self._replies.empty():
            found.append(self._replies.get())
        messages = (self._message(reply) for reply in found if reply is not _WAKE)
        return [message for message in messages if message is not None]

    def wake(self) -> None:
        self._replies.put(_WAKE)

    def close(self) -> None:
        for collector in list(self._actors):
            self.stop(collector)

    def _expect(
        self, collector: CollectorId, ref: Any, request_id: int | None = None, known: Known = NO_SCHEMA
    ) -> None:
        replies = self._replies
        future = ref.future()
        future.add_done_callback(lambda done: replies.put(_Reply(collector, request_id, known, done)))

    def _message(self, reply: _Reply) -> Message | None:
        collector, request_id = reply.collector, reply.request_id
        if collector not in self._actors:
            return None  # the collector was stopped
        error = reply.future.exception()
        if error is not None:
            alive = isinstance(error, ray.exceptions.ObjectLostError | ray.exceptions.ObjectFetchTimedOutError)
            return Lost(collector, cause_of(error), fault_of(error), request_id if alive else None)
        match reply.future.result():
            case Applied() as applied:
                self._expect(collector, self._actors[collector].next_applied.remote(applied.policy, applied.version))
                return applied
            case (Answer() as answer, int(schema)):
                return self._schemas.filled_in(answer, schema, reply.known)
            case message:
                found: Message = message
                return found


def _digest_of(handle: Any) -> str:
    # The digest is of the stored arrays, because training in place may change the original tensors.
    return snapshots.digest(_read(handle).arrays)


def _read(handle: Any) -> snapshots.Snapshot:
    try:
        stored: snapshots.Snapshot = ray.get(handle)
    except ray.exceptions.RayError as error:
        raise InfrastructureError.of("reading stored weights", error) from error
    return stored


def _handles(weights: Weights) -> tuple[Any, ...]:
    """Return the arguments that a call passes for a version of weights."""
    also = () if weights.normalization is None else (weights.normalization.handle,)
    return (weights.version, weights.stored.handle, *also)


def _values(request: Request) -> tuple[Any, ...]:
    """Return the values of the request's fields in order. A tuple has fewer bytes than fields with names."""
    return tuple(getattr(request, one.name) for one in fields(request))
