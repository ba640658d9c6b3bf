"""A transport whose collectors do what a test says: they start, load, answer, die or say nothing, in any order."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tests.stored import stored

from collectorfleet.gather.consumer import Consumer
from collectorfleet.gather.loop import GatherLoop
from collectorfleet.gather.shared import Limits, Shared
from collectorfleet.gather.state.admissions import Batch
from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import (
    Answer,
    Applied,
    CollectorId,
    Fault,
    Lost,
    Message,
    Raised,
    Request,
    Started,
    Stored,
    Weights,
)
from collectorfleet.normalization import Normalization
from collectorfleet.recovery.failure import FailurePolicy, ReplaceWithBackoff
from collectorfleet.scaling import EmptyWholePods

FRAMES = 10
STEP_SECONDS = 5.0


@dataclass
class Remote:
    """One incarnation of one collector, as it really is."""

    id: CollectorId
    built: bool = False
    loaded: int = 0
    offered: int = 0
    acknowledged: int = 0
    weights: Weights | None = None  # that it was offered last
    requests: deque[Request] = field(default_factory=deque)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class World:
    """The transport."""

    name = "World"

    def __init__(self) -> None:
        self.alive: dict[CollectorId, Remote] = {}
        self.stopped: set[CollectorId] = set()
        self.messages: list[Message] = []
        self.stored = 0
        self.digests: dict[int, str] = {}  # of the versions that were offered
        self.cut: set[int] = set()

    # ---------------------------------------------------------------- what the gather loop says
    def start(self, collector: CollectorId) -> None:
        assert collector not in self.alive
        assert collector not in self.stopped
        self.alive[collector] = Remote(collector)

    def put(self, snapshot: Any) -> Stored:
        self.stored += 1
        return stored(f"digest {self.stored}", 8, snapshot)

    def offer(self, collector: CollectorId, weights: Weights) -> None:
        remote = self.alive[collector]
        assert weights.version > remote.offered
        assert self.digests.setdefault(weights.version, weights.stored.digest) == weights.stored.digest
        remote.offered, remote.weights = weights.version, weights

    def submit(self, collector: CollectorId, request: Request, weights: Weights | None = None) -> None:
        remote = self.alive[collector]  # never to one that is retired
        assert remote.acknowledged  # nor to one without acknowledged weights
        if request.version is not None:
            assert weights is not None
            assert weights.version == request.version
        elif weights is not None:  # an offer that goes along
            self.offer(collector, weights)
        assert remote.offered >= request.min_version or request.version is not None
        remote.requests.append(request)

    def cut_short(self, collector: CollectorId, request_id: int) -> None:
        assert collector in self.alive
        self.cut.add(request_id)

    def stop(self, collector: CollectorId) -> None:
        self.alive.pop(collector, None)
        self.stopped.add(collector)

    def wait(self, timeout: float) -> Sequence[Message]:
        del timeout
        found, self.messages = self.messages, []
        return found

    def wake(self) -> None:
        pass

    def close(self) -> None:
        self.stopped |= self.alive.keys()
        self.alive.clear()

    # ---------------------------------------------------------------- what collectors do
    def build(self, remote: Remote, normalization: Normalization | None = None, *, pod: str | None = None) -> None:
        remote.built = True
        self.messages.append(Started(remote.id, pod or f"pod-{remote.id.name}", 1, normalization))

    def load(self, remote: Remote) -> None:
        remote.loaded = remote.acknowledged = remote.offered
        assert remote.weights is not None
        self.messages.append(Applied(remote.id, remote.loaded, remote.weights.digest))

    def answer(
        self,
        remote: Remote,
        *,
        frames: int = FRAMES,
        behind: int = 0,
        seconds: float = 1.0,
        normalization: Normalization | None = None,
        first_starts: str | None = None,
    ) -> Answer:
        """``behind``: its oldest frames are of so many versions before, of a trajectory that began with them."""
        request = remote.requests.popleft()
        version = request.version if request.version is not None else max(remote.loaded, request.min_version)
        if request.version is None:
            remote.loaded = version
        oldest = max(1, version - behind)
        answer = Answer(
            *(remote.id, request.id, "data", frames, oldest, seconds, 100),
            normalization=normalization,
            first_starts=first_starts,
        )
        self.messages.append(answer)
        return answer

    def lose_answer(self, remote: Remote) -> None:
        request = remote.requests.popleft()
        self.messages.append(Lost(remote.id, "the object is lost", request_id=request.id))

    def die(self, remote: Remote, fault: Fault = Fault.DIED) -> None:
        self.messages.append(Lost(remote.id, "it died", fault))

    def environment_raises(self, remote: Remote) -> None:
        where = "environment my_envs:make"
        self.messages.append(Raised(remote.id, where, "ValueError: no such game", "line 1", by_environment=True))

    def policy_raises(self, remote: Remote) -> None:
        self.messages.append(Raised(remote.id, "policy", "ZeroDivisionError: division by zero", "line 1"))


class Played:
    """A gather on a played world, driven turn by turn: both of its threads are the test."""

    def __init__(
        self,
        plan: Plan,
        collectors: int,
        *,
        limits: Limits,
        has_weights: bool = True,
        failure: FailurePolicy | None = None,
        groups: Sequence[str] = (),
    ) -> None:
        self.clock = Clock()
        self.world = World()
        self.shared = Shared(Gather(plan), collectors, limits, has_weights=has_weights, groups=groups)
        self.consumer = Consumer(self.shared, self.world, EmptyWholePods(), clock=self.clock)
        self.loop = GatherLoop(self.shared, self.world, failure or ReplaceWithBackoff(), clock=self.clock)

    @property
    def gather(self) -> Gather:
        return self.shared.gather

    def turn(self, seconds: float = 0.0) -> None:
        """Let so much time pass in which the gather thread comes around, and take a turn at its end."""
        while seconds > STEP_SECONDS:
            self.clock.now += STEP_SECONDS
            self.loop.turn()
            seconds -= STEP_SECONDS
        self.clock.now += seconds
        self.loop.turn()

    def take(self) -> Batch | None:
        """What the consumer takes now."""
        with self.shared.changed:
            return self.consumer.take_batch()

    def remote(self, name: str) -> Remote:
        return next(remote for remote in self.world.alive.values() if remote.id.name == name)


def working(allowed: timedelta) -> Played:
    """A fleet on-policy of one collector, which has a request; everything may take as long as is ``allowed``."""
    fleet = Played(
        Plan(shares=1, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None),
        collectors=1,
        limits=Limits(allowed, allowed, allowed, min_available=1),
    )
    fleet.consumer.stage("weights")
    fleet.turn()
    fleet.world.build(fleet.remote("c0"))
    fleet.turn()
    fleet.world.load(fleet.remote("c0"))
    fleet.turn()
    assert fleet.consumer.request_batch()
    fleet.turn()
    assert fleet.remote("c0").requests
    return fleet


def join_one(fleet: Played, name: str) -> None:
    """A collector of a played gather builds, and loads what it is offered."""
    remote = fleet.remote(name)
    fleet.world.build(remote)
    fleet.turn()
    fleet.turn()
    fleet.world.load(remote)
    fleet.turn()


def join(gather: Gather, id_: CollectorId, version: int, now: float) -> Collector:
    """A collector that becomes available."""
    gather.collectors.starting(id_, int(id_.name[1:]), now)
    one = gather.collectors.find(id_)
    assert one is not None
    gather.collectors.built(one, "pod", 1, now)
    gather.collectors.applied(one, version, now)
    return one
