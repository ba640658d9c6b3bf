"""Measures one fleet of real Ray actors that answer at once. The parent starts this module as a child process."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Final, cast

import psutil
import ray

from benchmarks.common.child import local_ray, serve
from benchmarks.common.patience import expecting
from collectorfleet.gather.consumer import Consumer
from collectorfleet.gather.loop import GatherLoop
from collectorfleet.gather.shared import Limits, Shared
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import Answer, Applied, CollectorId, Message, Placed, Request, Started
from collectorfleet.recovery.failure import ReplaceWithBackoff
from collectorfleet.scaling import EmptyWholePods

FRAMES: Final = 10
WARM_SECONDS: Final = 2.0
MEASURED_SECONDS: Final = 10.0
_MINUTES: Final = timedelta(minutes=5)
_GROUPS: Final = {"offers": 1, "standing": 1}


class Idle:
    """An actor that answers like a collector, without an environment, a policy, or torch."""

    def __init__(self, collector: CollectorId, config: object, policy: object) -> None:
        del config, policy
        self._id = collector
        self._changed = threading.Condition()
        self._version = 0

    def build(self, seed: int, seed_environment: bool) -> Message:
        del seed, seed_environment
        return Started(self._id, "pod", 1)

    def run(
        self,
        request: tuple[Any, ...],
        known_schema: int,
        version: int | None = None,
        weights: object = None,
        normalization: object = None,
    ) -> tuple[Message, int]:
        asked = Request(*request)
        if version is not None:
            self._take(version)
        return Answer(self._id, asked.id, None, asked.frames, max(1, self._version), 0.001), known_schema

    @ray.method(concurrency_group="offers")
    def placed(self) -> Message:
        return Placed(self._id, "pod")

    @ray.method(concurrency_group="offers", num_returns=0)
    def offer(self, policy: str, version: int, weights: object, normalization: object = None) -> None:
        del policy, weights, normalization
        self._take(version)

    @ray.method(concurrency_group="standing")
    def next_applied(self, policy: str, seen: int) -> Message:
        with self._changed:
            self._changed.wait_for(lambda: self._version != seen)
            return Applied(self._id, self._version, "digest", policy)

    def _take(self, version: int) -> None:
        with self._changed:
            self._version = max(self._version, version)
            self._changed.notify_all()


def run(case: dict[str, Any]) -> dict[str, float]:
    """Return the driver's CPU microseconds per answer, with an update after each batch, and the answers per second."""
    size, in_order = int(case["size"]), case["mode"] == "Sync"
    with local_ray(num_cpus=size):
        fleet = _fleet(size, Plan(size if in_order else 1, FRAMES, in_order, 0 if in_order else None, None))
        with expecting("the fleet to start", 240):
            _batch(fleet)
        _for(fleet, WARM_SECONDS)
        me, began, shared = psutil.Process(), time.monotonic(), fleet.shared
        cpu, answers, batches = _cpu(me), shared.statistics.frames_collected, shared.statistics.batches
        _for(fleet, MEASURED_SECONDS)
        answers = (shared.statistics.frames_collected - answers) // FRAMES
        batches = shared.statistics.batches - batches
        found = {
            "CPU of the driver for each answer, an update after each batch (µs)": (_cpu(me) - cpu) / answers * 1e6,
            "answers a second": answers / (time.monotonic() - began),
        }
        fleet.close()
        return found


def _fleet(size: int, plan: Plan) -> Consumer:
    # Imported here, because these modules import torch. The actors import this module and must not import torch.
    from collectorfleet.actor.config import CollectorConfig
    from collectorfleet.codec.snapshot import Snapshot
    from collectorfleet.transport.ray.transport import RayTransport

    class Bare(RayTransport):
        """Ray's transport with :class:`Idle` actors."""

        def __init__(self) -> None:
            super().__init__(
                lambda _name: cast("CollectorConfig", None), lambda _name: {"num_cpus": 1}, policy=None, seed=0
            )
            options: Any = {"enable_task_events": False, "concurrency_groups": _GROUPS}
            self._class = ray.remote(**options)(Idle)

        def put(self, snapshot: Snapshot) -> Any:
            stored = super().put(snapshot)
            digest: Future[str] = Future()
            digest.set_result("digest")  # the digest that the actors acknowledge
            return type(stored)(digest, stored.size_bytes, stored.handle)

    transport = Bare()
    shared = Shared(Gather(plan), size, Limits(_MINUTES, _MINUTES, _MINUTES, 1), has_weights=True)
    consumer = Consumer(shared, transport, EmptyWholePods())
    consumer.stage(Snapshot((), []))
    GatherLoop(shared, transport, ReplaceWithBackoff()).start()
    return consumer


def _batch(fleet: Consumer) -> None:
    from collectorfleet.codec.snapshot import Snapshot

    fleet.next()
    fleet.stage(Snapshot((), []))


def _for(fleet: Consumer, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _batch(fleet)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    serve(run)
