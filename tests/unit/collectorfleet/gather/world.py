"""A transport whose collectors do what a test says: they start, load, answer, die or say nothing, in any order."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from collectorfleet.messages import (
    Address,
    Applied,
    Event,
    Fault,
    Finished,
    Lost,
    Request,
    Started,
    Stored,
    Weights,
)

FRAMES = 10


@dataclass
class Remote:
    """One life of one collector, as it really is."""

    address: Address
    built: bool = False
    loaded: int = 0
    offered: int = 0
    acknowledged: int = 0
    requests: deque[Request] = field(default_factory=deque)


class World:
    name = "World"

    def __init__(self) -> None:
        self.alive: dict[Address, Remote] = {}
        self.stopped: set[Address] = set()
        self.events: list[Event] = []
        self.stored = 0
        self.digests: dict[int, str] = {}  # of the versions that were offered
        self.cut: set[int] = set()

    # ---------------------------------------------------------------- what the gather loop says
    def start(self, address: Address) -> None:
        assert address not in self.alive
        assert address not in self.stopped
        self.alive[address] = Remote(address)

    def put(self, snapshot: Any) -> Stored:
        self.stored += 1
        return Stored(f"digest {self.stored}", 8, snapshot)

    def offer(self, address: Address, weights: Weights) -> None:
        remote = self.alive[address]
        assert weights.version > remote.offered
        assert self.digests.setdefault(weights.version, weights.stored.digest) == weights.stored.digest
        remote.offered = weights.version

    def submit(self, address: Address, request: Request, weights: Weights | None = None) -> None:
        remote = self.alive[address]  # never to one that is retired
        assert remote.acknowledged  # nor to one without acknowledged weights
        assert (weights.version if weights else None) == request.version
        remote.requests.append(request)

    def cut_short(self, address: Address, request_id: int) -> None:
        assert address in self.alive
        self.cut.add(request_id)

    def stop(self, address: Address) -> None:
        self.alive.pop(address, None)
        self.stopped.add(address)

    def wait(self, timeout: float) -> Sequence[Event]:
        del timeout
        found, self.events = self.events, []
        return found

    def wake(self) -> None:
        pass

    def close(self) -> None:
        self.stopped |= self.alive.keys()
        self.alive.clear()

    # ---------------------------------------------------------------- what collectors do
    def build(self, remote: Remote) -> None:
        remote.built = True
        self.events.append(Started(remote.address, f"pod-{remote.address.name}", 1))

    def load(self, remote: Remote) -> None:
        remote.loaded = remote.acknowledged = remote.offered
        self.events.append(Applied(remote.address, remote.loaded, self.digests[remote.loaded]))

    def answer(self, remote: Remote, *, frames: int = FRAMES) -> Finished:
        request = remote.requests.popleft()
        version = request.version if request.version is not None else max(remote.loaded, request.min_version)
        if request.version is None:
            remote.loaded = version
        event = Finished(remote.address, request.id, "data", frames, version, 1.0, 100)
        self.events.append(event)
        return event

    def lose_answer(self, remote: Remote) -> None:
        request = remote.requests.popleft()
        self.events.append(Lost(remote.address, "the object is lost", request_id=request.id))

    def die(self, remote: Remote, fault: Fault = Fault.DIED) -> None:
        self.events.append(Lost(remote.address, "it died", fault))
