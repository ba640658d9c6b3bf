"""The steps of the measurement for one number of fleets. Each step begins with the state that the step before left."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from tests.cluster.control_plane import ControlPlane

from benchmarks.fleets import bare, played
from benchmarks.fleets.api import Api, each
from benchmarks.fleets.played import Drivers, Leases
from benchmarks.fleets.process import Operator, Server
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.table import manifests
from collectorfleet_operator.objects import Kind, Object, has_condition, name_of, namespace_of

BARE_FLEETS: Final = 150
REPORTING: Final = 50
REPORT_SECONDS: Final = 2.0
# If all drivers report, each reports at this interval, or less often to use half of the API server's highest rate.
ALL_REPORT_SECONDS: Final = 10.0
CHANGES: Final = 150
CHANGE_SECONDS: Final = 0.2
AT_ONCE: Final = 100
# In this time the operator lists all objects twice.
REST_SECONDS: Final = 60.0
# The operator has settled if it sends no write for this time.
SETTLED_SECONDS: Final = 3.0
_PATIENCE_SECONDS: Final = 300.0

Found = dict[str, float]


class Took(NamedTuple):
    """The latency of a change of a fleet until a watch shows the change in the child.

    ``after_answer_seconds`` begins when the API server has answered the sender.
    """

    seconds: float
    after_answer_seconds: float


class Fleets:
    """``count`` fleets, their operator, and the API server that stores them. Each step returns its results by name."""

    def __init__(self, plane: ControlPlane, api: Api, operator: Operator, count: int) -> None:
        self.plane, self.api, self.operator, self.count = plane, api, operator, count
        self.stored: list[Object] = []
        self.leases = Leases(api)

    async def store(self, **spec: object) -> None:
        """Create the fleets. ``spec`` overrides fields of their specs."""

        async def one(number: int) -> None:
            self.stored.append(await self.api.create(FLEET, played.fleet(number, None, **spec)))

        await each(range(self.count), one)

    async def converge(self) -> Found:
        """Start the operator and measure until all fleets have children and a status.

        Before the start, measure the same requests without an operator.
        """
        server = Server(self.plane)
        calls = await bare.rate(self.api, server, BARE_FLEETS)
        self.operator.launch()
        began = await self.operator.ready()
        cpu, server_cpu = self.operator.cpu_seconds(), server.cpu_seconds()
        await self.until(FLEET, lambda one: one["status"]["observedGeneration"] > 0)
        took, cpu = time.monotonic() - began, self.operator.cpu_seconds() - cpu
        server_cpu = (server.cpu_seconds() - server_cpu) / self.count
        for child in manifests(CollectorFleet.parse_stored(self.stored[0])):
            there = len(await self.api.list(child.kind))
            assert there >= self.count, f"{there} {child.kind}; see {self.operator.component.log}"
        requests = await self.operator.requests()
        longest = await self.operator.longest_step()
        return {
            "converge (fleets/s)": self.count / took,
            "the same objects by bare calls (fleets/s)": calls.fleets_per_second,
            "converge / bare calls": self.count / took / calls.fleets_per_second,
            "CPU of the operator a fleet (ms)": 1e3 * cpu / self.count,
            "CPU of API server and etcd a fleet, converging (ms)": 1e3 * server_cpu,
            "CPU of API server and etcd a fleet, bare calls (ms)": 1e3 * calls.server_cpu_seconds,
            "CPU of the client a fleet, bare calls (ms)": 1e3 * calls.client_cpu_seconds,
            "converge / bare calls, of an operator without any CPU": (
                (calls.server_cpu_seconds + calls.client_cpu_seconds) / server_cpu
            ),
            "requests a fleet": requests.all / self.count,
            "longest step, converging (ms)": 1e3 * longest,
        }

    async def get_ready(self) -> Found:
        """Play pods and reports until all fleets are Ready, and measure memory and steps of the operator."""
        await played.make_pods(self.api, self.stored, self.leases)
        await Drivers(self.api, self.stored).report_once()
        await self.until(FLEET, lambda one: has_condition(one, "Ready"))
        await asyncio.sleep(5)
        longest = await self.operator.longest_step()
        return {
            "resident when all are Ready (MB)": self.operator.memory_mb(),
            "longest step, getting ready (ms)": 1e3 * longest,
        }

    async def change_under_reports(self) -> Found:
        """Measure the latency of changes of specs while some drivers report."""
        before = await self.operator.requests()
        reporting = Drivers(self.api, played.some(self.stored, REPORTING))
        took = await self._changes_while(reporting, REPORT_SECONDS)
        sent = (await self.operator.requests()).since(before)
        longest = await self.operator.longest_step()
        return {
            **_latency(f"a change reaches its child, {REPORTING} report every {REPORT_SECONDS:g} s", took),
            "409s among its writes (%)": 100 * sent.conflicts / max(1.0, sent.writes),
            "longest step, under reports (ms)": 1e3 * longest,
        }

    async def change_while_all_report(self) -> Found:
        """Measure the API server's highest rate of reports, then the latency of changes while all drivers report."""
        drivers = Drivers(self.api, self.stored)
        began = time.monotonic()
        await drivers.report_once()
        most = self.count / (time.monotonic() - began)
        await self.operator.longest_step()
        before, spent, began = await self.operator.requests(), self.operator.cpu_seconds(), time.monotonic()
        drivers.sent = 0
        took = await self._changes_while(drivers, max(ALL_REPORT_SECONDS, 2 * self.count / most))
        elapsed = time.monotonic() - began
        sent = (await self.operator.requests()).since(before)
        longest = await self.operator.longest_step()
        return {
            **_latency("a change reaches its child, all report", took),
            "reports a second, as fast as they go": most,
            "reports a second": drivers.sent / elapsed,
            "CPU in that time (cores)": (self.operator.cpu_seconds() - spent) / elapsed,
            "409s among its writes then (%)": 100 * sent.conflicts / max(1.0, sent.writes),
            "longest step, all report (ms)": 1e3 * longest,
        }

    async def change_at_once(self) -> Found:
        """Measure the latency of changes that are sent at the same time."""
        some = played.some(self.stored, AT_ONCE)
        async with self.seen_resized() as resized:
            began = time.monotonic()
            await each(some, self._resize, at_once=len(some))
            sent = time.monotonic()
            async with _patience(lambda: "changes at once do not reach their child"):
                times = [await resized(one) for one in some]
        await self._settle()
        longest = await self.operator.longest_step()
        return {
            "100 changes at once (10 of 10 fleets): all are sent after (s)": sent - began,
            "100 changes at once (10 of 10 fleets): the last reaches its child after (s)": max(times) - began,
            "longest step, changes at once (ms)": 1e3 * longest,
        }

    async def rest(self) -> Found:
        """Measure the operator for a minute without a change."""
        await asyncio.sleep(10)
        before, spent, began = await self.operator.requests(), self.operator.cpu_seconds(), time.monotonic()
        await self.operator.longest_step()
        await asyncio.sleep(REST_SECONDS)
        elapsed, cpu = time.monotonic() - began, self.operator.cpu_seconds() - spent
        sent = (await self.operator.requests()).since(before)
        longest = await self.operator.longest_step()
        return {
            "CPU at rest (cores)": cpu / elapsed,
            "writes at rest": sent.writes,
            "requests at rest (1/s)": sent.all / elapsed,
            "resident at rest (MB)": self.operator.memory_mb(),
            "peak (MB)": self.operator.peak_mb(),
            "longest step, at rest (ms)": 1e3 * longest,
        }

    async def restart(self) -> Found:
        """Kill the operator, start it again and measure until it is quiet."""
        self.operator.component.kill()
        began = self.operator.launch()
        ready = await self.operator.ready()
        quiet = await self.operator.quiet_since(began)
        requests = await self.operator.requests()
        longest = await self.operator.longest_step()
        return {
            "ready after a restart (s)": ready - began,
            "quiet after a restart (s)": quiet,
            "writes after a restart": requests.writes,
            "CPU in the 25 s after a restart (s)": self.operator.cpu_seconds(),
            "peak after a restart (MB)": self.operator.peak_mb(),
            "longest step, after a restart (ms)": 1e3 * longest,
        }

    async def outage(self, seconds: float) -> Found:
        """Stop the API server for ``seconds``. Measure the latency of changes once the server is ready again."""
        await asyncio.to_thread(self.plane.kill, "kube-apiserver")
        await asyncio.sleep(seconds)
        before = self.operator.cpu_seconds()
        await asyncio.to_thread(self.plane.start, "kube-apiserver")
        began = time.monotonic()
        some = played.some(self.stored, 10)
        told = _patience(lambda: "changes after the outage do not reach their child")
        async with self.seen_resized() as resized, told:
            await each(some, self._resize)
            times = [await resized(one) for one in some]
        quiet, cpu = await self.operator.quiet_since(began), self.operator.cpu_seconds() - before
        longest = await self.operator.longest_step()
        await self._settle()
        return {
            f"{seconds:g} s without the API server: 10 changes reach their children after (s)": max(times) - began,
            "quiet after an outage (s)": quiet,
            "CPU in the 25 s after an outage (s)": cpu,
            "longest step, after an outage (ms)": 1e3 * longest,
        }

    async def until(self, kind: Kind, holds: Callable[[Object], bool]) -> None:
        """Wait until ``holds`` is true for each fleet's object of ``kind``. Raises AssertionError after 5 minutes."""
        missing = {(namespace_of(one), name_of(one)) for one in self.stored}
        told = _patience(lambda: f"{len(missing)} of {self.count} {kind} do not get there")
        async with told, contextlib.aclosing(self.api.follow(kind)) as news:
            async for one in news:
                if holds(one):
                    missing.discard((namespace_of(one), name_of(one)))
                if not missing:
                    return

    async def _changes_while(self, drivers: Drivers, every_seconds: float) -> list[Took]:
        async with self.seen_resized() as resized, drivers.reporting(every_seconds):
            await asyncio.sleep(2)
            targets = itertools.cycle(played.some(self.stored, CHANGES))
            waiting = []
            for one in itertools.islice(targets, CHANGES if self.count >= CHANGES else 2 * self.count):
                began = time.monotonic()
                await self._resize(one)
                waiting.append(asyncio.create_task(_took(began, time.monotonic(), resized(one))))
                await asyncio.sleep(CHANGE_SECONDS)
            async with _patience(lambda: f"{sum(not one.done() for one in waiting)} changes do not reach their child"):
                took = list(await asyncio.gather(*waiting))
        await self._settle()
        return took

    async def _settle(self) -> None:
        """Play the pods and reports that follow from the changes. Wait until fleets are Ready and no writes follow."""
        self.stored = await self.api.list(FLEET)
        await played.make_pods(self.api, self.stored, self.leases)
        grown = [one for one in self.stored if one["status"].get("replicas") != one["spec"]["collectors"]["replicas"]]
        await Drivers(self.api, grown).report_once()
        await self.until(FLEET, lambda one: has_condition(one, "Ready"))
        before = None
        while (now := (await self.operator.requests()).writes) != before:
            before = now
            await asyncio.sleep(SETTLED_SECONDS)

    async def _resize(self, one: Object) -> None:
        one["spec"]["collectors"]["replicas"] += 1
        change = {"spec": {"collectors": {"replicas": one["spec"]["collectors"]["replicas"]}}}
        await self.api.merge(FLEET, namespace_of(one), name_of(one), change)

    @contextlib.asynccontextmanager
    async def seen_resized(self) -> AsyncIterator[Callable[[Object], Awaitable[float]]]:
        """Watch RayClusters during the block, and yield a function that waits for the workers of a fleet.

        The function takes a fleet. It returns the monotonic time at which the watch first showed the fleet's number of
        workers in its RayCluster.
        """
        grown: defaultdict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
        news = asyncio.Condition()

        async def resized(one: Object) -> float:
            replicas, sizes = one["spec"]["collectors"]["replicas"], grown[namespace_of(one), name_of(one)]
            async with news:
                # Compare with >=, because a watch may show one update for two quick changes.
                await news.wait_for(lambda: any(size >= replicas for _, size in sizes))
            return next(at for at, size in sizes if size >= replicas)

        async def follow() -> None:
            async for cluster in self.api.follow(RAYCLUSTER):
                size = cluster["spec"]["workerGroupSpecs"][0]["replicas"]
                grown[namespace_of(cluster), name_of(cluster)].append((time.monotonic(), size))
                async with news:
                    news.notify_all()

        following = asyncio.create_task(follow())
        try:
            async with _patience(lambda: f"{len(grown)} of {self.count} RayClusters are seen"), news:
                await news.wait_for(lambda: len(grown) >= self.count)
            yield resized
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


@contextlib.asynccontextmanager
async def _patience(what_is_missing: Callable[[], str]) -> AsyncIterator[None]:
    """Limit the block to five minutes. Raises AssertionError that says what is missing."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            yield
    except TimeoutError:
        raise AssertionError(f"{what_is_missing()} within {_PATIENCE_SECONDS:g} s") from None


async def _took(began: float, answered: float, end: Awaitable[float]) -> Took:
    ended = await end
    return Took(ended - began, max(0.0, ended - answered))


def _latency(what: str, took: Sequence[Took]) -> Found:
    found = {}
    for part, times in (
        (what, [one.seconds for one in took]),
        (f"{what}, after the answer", [one.after_answer_seconds for one in took]),
    ):
        ordered = sorted(times)
        found[f"{part}, median (ms)"] = 1e3 * statistics.median(ordered)
        found[f"{part}, p99 (ms)"] = 1e3 * ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return found
