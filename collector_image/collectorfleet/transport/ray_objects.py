"""Ray actors and Ray's object store: weights are put once for all collectors, rollouts are read where they lie.

Nothing polls. Ray calls back when an answer is there; the callback only queues it, and :meth:`RayObjects.wait` turns it
into an event on the gather thread. One call of each actor never returns, so a death is noticed without asking.
"""

from __future__ import annotations

import queue
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import ray

from collectorfleet.errors import describe
from collectorfleet.transport import actor as actors
from collectorfleet.transport.base import Address, Applied, Event, Finished, Lost, Raised, Request, Started, Weights
from collectorfleet.weights import snapshot as snapshots

ConfigOf = Callable[[str], actors.ActorConfig]
OptionsOf = Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True)
class _Answer:
    address: Address
    request_id: int | None
    future: Future[Any]


_WAKE = object()


class RayObjects:
    """A transport over Ray.

    ``config_of`` and ``options_of`` say what a collector by that name is made of; ``seed`` is the first of a row of
    seeds, one for each life of each collector.
    """

    name = "ObjectStore"

    def __init__(self, config_of: ConfigOf, options_of: OptionsOf, *, seed: int) -> None:
        self._config_of = config_of
        self._options_of = options_of
        self._seed = seed
        self._actors: dict[Address, Any] = {}
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def start(self, address: Address) -> None:
        options = {**self._options_of(address.name), "concurrency_groups": actors.CONCURRENCY_GROUPS}
        remote: Any = ray.remote(**options)(actors.CollectorActor)
        handle = remote.remote(self._config_of(address.name))
        self._actors[address] = handle
        self._expect(address, handle.build.remote((self._seed + address.incarnation) % 2**63))
        self._expect(address, handle.life.remote())

    def put(self, version: int, snapshot: snapshots.Snapshot) -> Weights:
        return Weights(version, snapshots.digest(snapshot), snapshot.buffer.nbytes, ray.put(snapshot))

    def offer(self, address: Address, weights: Weights) -> None:
        self._expect(address, self._actors[address].offer.remote(weights.version, weights.handle))

    def submit(self, address: Address, request: Request) -> None:
        self._expect(address, self._actors[address].rollout.remote(request.min_version), request.id)

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
            return Lost(address, cause_of(error), request_id if alive else None)
        match answer.future.result():
            case actors.Built(pod, pid):
                return Started(address, pod, pid)
            case actors.Rollout(payload, version, seconds) if request_id is not None:
                return Finished(address, request_id, payload, version, seconds)
            case actors.UserError(where, cause, text):
                return Raised(address, where, cause, text)
            case (int(version), str(digest)):
                return Applied(address, version, digest)
            case other:
                return Lost(address, f"an answer that makes no sense: {other!r}")


def cause_of(error: BaseException) -> str:
    """Ray's errors are paragraphs; the sentence that says why is what a person needs."""
    text = str(error)
    because = re.search(r"(?:The actor is dead because|Worker exit detail:) (.+?)(?:\n|$)", text)
    if because:
        return because[1].strip()
    if isinstance(error, ray.exceptions.RayTaskError) and error.cause is not None:
        return describe(error.cause)
    return f"{type(error).__name__}: {text.strip().splitlines()[0] if text.strip() else 'no message'}"
