"""Ray actors and Ray's object store: weights are put once for all collectors, rollouts are read where they lie.

Nothing polls. Ray calls back when an answer is there; the callback only queues it, and :meth:`RayObjects.wait` turns it
into an event on the gather thread. One call of each actor never returns, so a death is noticed without asking.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import ray

from collectorfleet.actor.runner import Built, CollectorConfig
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import (
    Address,
    Applied,
    Event,
    Fault,
    Finished,
    Lost,
    Raised,
    Request,
    Started,
    Stored,
    Weights,
)
from collectorfleet.transport.ray import actor as actors
from collectorfleet.transport.ray.faults import cause_of, fault_of

ConfigOf = Callable[[str], CollectorConfig]
OptionsOf = Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True)
class _Answer:
    address: Address
    request_id: int | None
    future: Future[Any]


_WAKE = object()


class RayObjects:
    """A transport over Ray.

    ``config_of`` and ``options_of`` say what a collector by that name is made of; ``policy`` is sent once for all of
    them; ``seed`` is the first of a row of seeds, one for each life of each collector.
    """

    name = "ObjectStore"

    def __init__(self, config_of: ConfigOf, options_of: OptionsOf, *, policy: Any, seed: int) -> None:
        self._config_of = config_of
        self._options_of = options_of
        self._policy = ray.put(policy)
        self._seed = seed
        self._seeds_environments = False
        self._actors: dict[Address, Any] = {}
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def start(self, address: Address) -> None:
        options = {**self._options_of(address.name), "concurrency_groups": actors.CONCURRENCY_GROUPS}
        remote: Any = ray.remote(**options)(actors.CollectorActor)
        handle = remote.remote(self._config_of(address.name), self._policy, address.incarnation)
        self._actors[address] = handle
        seed = (self._seed + address.incarnation) % 2**63
        self._expect(address, handle.build.remote(seed, self._seeds_environments))
        self._expect(address, handle.life.remote())

    def put(self, snapshot: snapshots.Snapshot) -> Stored:
        return Stored(snapshots.digest(snapshot.arrays), snapshot.size_bytes, ray.put(snapshot))

    def offer(self, address: Address, weights: Weights) -> None:
        self._expect(address, self._actors[address].offer.remote(weights.version, weights.stored.handle))

    def submit(self, address: Address, request: Request, weights: Weights | None = None) -> None:
        asked = (request.id, request.frames, request.min_version, request.random)
        exactly = () if weights is None else (weights.version, weights.stored.handle)
        self._expect(address, self._actors[address].rollout.remote(asked, *exactly), request.id)

    def cut_short(self, address: Address, request_id: int) -> None:
        self._actors[address].cut_short.remote(request_id)

    def ask(self, address: Address, method: str, *args: Any) -> Any:
        """Call a method of the actor, between two rollouts; returns Ray's reference. Any thread."""
        return getattr(self._actors[address], method).remote(*args)

    def seed_later_lives(self, seed: int) -> None:
        """From now on environments are seeded when they are built, each life of a collector with a seed of its own."""
        self._seed, self._seeds_environments = seed, True

    def handles(self) -> list[Any]:
        """The actors, in the order of their start. Any thread."""
        return list(self._actors.values())

    def stop(self, address: Address) -> None:
        handle = self._actors.pop(address, None)
        if handle is not None:
            ray.kill(handle, no_restart=True)

    def wait(self, timeout: float) -> Sequence[Event]:
        try:
            found = [self._answers.get(timeout=timeout)]
        except queue.Empty:
            return []
        while not self._answers.empty():
            found.append(self._answers.get())
        events = (self._event(answer) for answer in found if answer is not _WAKE)
        return [event for event in events if event is not None]

    def wake(self) -> None:
        self._answers.put(_WAKE)

    def close(self) -> None:
        for address in list(self._actors):
            self.stop(address)

    def _expect(self, address: Address, ref: Any, request_id: int | None = None) -> None:
        answers = self._answers
        future = ref.future()
        future.add_done_callback(lambda done: answers.put(_Answer(address, request_id, done)))

    def _event(self, answer: _Answer) -> Event | None:
        address, request_id = answer.address, answer.request_id
        if address not in self._actors:
            return None  # of a collector that was stopped
        error = answer.future.exception()
        if error is not None:
            alive = isinstance(error, ray.exceptions.ObjectLostError | ray.exceptions.ObjectFetchTimedOutError)
            return Lost(address, cause_of(error), fault_of(error), request_id if alive else None)
        match answer.future.result():
            case Built(pod, pid):
                return Started(address, pod, pid)
            case actors.Rollout() as rollout if request_id is not None:
                return _finished(address, request_id, rollout)
            case actors.UserError(where, cause, text):
                return Raised(address, where, cause, text)
            case actors.OutOfMemory(cause):
                return Lost(address, cause, Fault.OUT_OF_MEMORY)
            case (int(version), str(digest)):
                return Applied(address, version, digest)
            case other:
                return Lost(address, f"an answer that makes no sense: {other!r}")


def _finished(address: Address, request_id: int, rollout: actors.Rollout) -> Finished:
    encoded = rollout.part.encoded if rollout.part else None
    return Finished(
        address,
        request_id,
        rollout.part,
        rollout.frames,
        rollout.version,
        rollout.seconds,
        size_bytes=encoded.size_bytes if encoded else 0,
        pickled=encoded.pickled_count if encoded else 0,
    )
