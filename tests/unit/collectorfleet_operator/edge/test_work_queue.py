"""The fleets that are due are worked on, each once at a time, and none keeps another from it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from collectorfleet_operator.edge.work_queue import WorkQueue


def tenant_of(key: str) -> str:
    return key.partition("/")[0]


async def _run(queue: WorkQueue[str], work: Callable[[str], Awaitable[timedelta | None]], until: asyncio.Event) -> None:
    running = asyncio.create_task(queue.run(work))
    try:
        async with asyncio.timeout(10):
            await until.wait()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def test_one_fleet_that_fails_stops_no_other() -> None:
    async def scenario() -> list[str]:
        done, failed, enough = [], [], asyncio.Event()

        async def work(key: str) -> timedelta | None:
            if key == "bad":
                raise ValueError("broken")
            done.append(key)
            end_if_enough()
            return timedelta(0) if done.count("good") < 3 else None

        def say(key: str, error: Exception, delay_seconds: float) -> None:
            failed.append(f"{key}: {error}")
            assert delay_seconds > 0
            end_if_enough()

        def end_if_enough() -> None:
            if len(failed) >= 2 and done.count("good") == 3:
                enough.set()

        queue = WorkQueue(say, tenant_of)
        queue.add("bad")
        queue.add("good")
        await _run(queue, work, enough)
        return done + failed[:2]

    assert asyncio.run(scenario()) == ["good"] * 3 + ["bad: broken"] * 2


def test_work_that_raises_a_cancellation_costs_no_worker() -> None:
    """A TaskGroup takes it for the end of a task that was asked to end, and says nothing."""

    async def scenario() -> list[str]:
        failed: list[str] = []
        enough = asyncio.Event()

        async def work(key: str) -> timedelta | None:
            if key == "bad":
                raise asyncio.CancelledError
            enough.set()
            return None

        def say(key: str, error: Exception, _: float) -> None:
            failed.append(f"{key}: {error}")
            queue.add("good")

        queue = WorkQueue(say, tenant_of, limit=1)
        queue.add("bad")
        await _run(queue, work, enough)
        return failed

    assert asyncio.run(scenario()) == ["bad: the work was cancelled, although nothing requested this"]


def test_a_fleet_is_never_worked_on_twice_at_once() -> None:
    async def scenario() -> tuple[int, int]:
        at_once, most, runs, enough = 0, 0, 0, asyncio.Event()

        async def work(_: str) -> timedelta | None:
            nonlocal at_once, most, runs
            at_once += 1
            most = max(most, at_once)
            runs += 1
            if runs < 3:
                queue.add("a")
            await asyncio.sleep(0)
            at_once -= 1
            if runs == 3:
                enough.set()
            return None

        queue: WorkQueue[str] = WorkQueue(lambda *_: None, tenant_of)
        queue.add("a")
        await _run(queue, work, enough)
        return most, runs

    assert asyncio.run(scenario()) == (1, 3)


def test_what_is_due_waits_until_somebody_works_on_it() -> None:
    async def scenario() -> list[tuple[int, bool]]:
        seen, enough = [], asyncio.Event()

        async def work(key: str) -> timedelta | None:
            await asyncio.sleep(0.01)
            seen.append((queue.depth, queue.longest_wait_seconds > 0))
            if key == "c":
                enough.set()
            return None

        queue: WorkQueue[str] = WorkQueue(lambda *_: None, tenant_of, limit=1)
        assert (queue.depth, queue.longest_wait_seconds) == (0, 0.0)
        for key in ("a", "b", "c"):
            queue.add(key)
        await _run(queue, work, enough)
        return seen

    assert asyncio.run(scenario()) == [(2, True), (1, True), (0, False)]


def test_everybody_else_gets_a_turn_while_many_fleets_are_due() -> None:
    async def scenario() -> list[int]:
        turns, seen, enough = 0, [], asyncio.Event()

        async def elsewhere() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async def work(key: str) -> timedelta | None:
            seen.append(turns)
            if len(seen) == 100:
                enough.set()
            return None

        queue: WorkQueue[str] = WorkQueue(lambda *_: None, tenant_of, limit=4)
        for number in range(100):
            queue.add(f"{number}")
        other = asyncio.create_task(elsewhere())
        await _run(queue, work, enough)
        other.cancel()
        return seen

    seen = asyncio.run(scenario())
    assert max(seen.count(turn) for turn in set(seen)) <= 4


def test_what_is_worked_on_for_long_is_known_and_what_is_done_is_not() -> None:
    async def scenario() -> tuple[float, float]:
        began, end, enough = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def work(key: str) -> timedelta | None:
            if key == "slow":
                began.set()
                await end.wait()
                queue.add("last")
            else:
                enough.set()
            return None

        async def look() -> float:
            await began.wait()
            found = queue.longest_work_seconds
            end.set()
            return found

        queue: WorkQueue[str] = WorkQueue(lambda *_: None, tenant_of)
        queue.add("slow")
        looking = asyncio.create_task(look())
        await _run(queue, work, enough)
        return await looking, queue.longest_work_seconds

    while_working, afterwards = asyncio.run(scenario())
    assert while_working > 0.0
    assert afterwards == 0.0


def test_a_tenant_whose_work_hangs_leaves_workers_to_the_others() -> None:
    async def scenario() -> int:
        hung, enough, for_ever = 0, asyncio.Event(), asyncio.Event()

        async def work(key: str) -> timedelta | None:
            nonlocal hung
            if key.startswith("bad/"):
                hung += 1
                await for_ever.wait()
            enough.set()
            return None

        queue: WorkQueue[str] = WorkQueue(lambda *_: None, tenant_of, limit=10)
        for number in range(50):
            queue.add(f"bad/{number}")
        queue.add("good/one")
        await _run(queue, work, enough)
        return hung

    assert asyncio.run(scenario()) <= 8


def test_a_tenant_with_one_fleet_waits_for_none_of_a_tenant_with_hundreds() -> None:
    async def scenario() -> list[str]:
        order, enough = [], asyncio.Event()

        async def work(key: str) -> timedelta | None:
            order.append(key)
            await asyncio.sleep(0)
            if key == "good/one":
                enough.set()
            return None

        queue: WorkQueue[str] = WorkQueue(lambda *_: None, tenant_of, limit=1)
        for number in range(300):
            queue.add(f"bad/{number}")
        queue.add("good/one")
        await _run(queue, work, enough)
        return order

    assert asyncio.run(scenario()) == ["bad/0", "good/one"]
