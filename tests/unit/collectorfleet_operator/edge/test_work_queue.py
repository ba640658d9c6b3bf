"""When a fleet is looked at: at once, one look at a time, not again too soon, and later after a failure."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_operator.edge.work_queue import Backoff, Schedule, WorkQueue


def schedule() -> Schedule[str]:
    return Schedule(debounce_seconds=1, backoff=Backoff(first_seconds=1, longest_seconds=8))


def test_a_quiet_key_is_due_at_once() -> None:
    keys = schedule()
    keys.add("a", now=10)
    assert keys.take(10) == ["a"]
    assert keys.take(10) == []


def test_news_during_the_work_and_right_after_are_taken_together() -> None:
    keys = schedule()
    keys.add("a", now=10)
    keys.take(10)
    keys.add("a", now=10.1)
    keys.add("a", now=10.2)
    assert keys.take(10.3) == []
    keys.done("a", now=10.5)
    keys.add("a", now=10.6)
    assert keys.take(11.4) == []
    assert keys.take(11.5) == ["a"]


def test_keys_do_not_wait_for_each_other() -> None:
    keys = schedule()
    keys.add("a", now=0)
    keys.take(0)
    keys.add("b", now=0.1)
    assert keys.take(0.1) == ["b"]


def test_failures_wait_longer_each_time_and_news_do_not_hurry_them() -> None:
    keys = schedule()
    keys.add("a", now=0)
    keys.take(0)
    assert keys.done("a", now=0, failed=True) == 1
    keys.add("a", now=0.5)
    assert keys.take(0.9) == []
    assert keys.take(1) == ["a"]
    assert keys.done("a", now=1, failed=True) == 2
    assert keys.take(3) == ["a"]
    assert keys.done("a", now=3) is None
    assert keys.next_due() is None


def test_a_key_asked_for_later_is_due_sooner_if_there_is_news() -> None:
    keys = schedule()
    keys.add("a", now=0, after=60)
    assert keys.next_due() == 60
    keys.add("a", now=5)
    assert keys.take(5) == ["a"]


@given(st.integers(1, 2000), st.floats(0, 1))
def test_a_delay_stays_between_half_and_all_of_its_step(failures: int, chance: float) -> None:
    backoff = Backoff()
    full = min(0.5 * 2 ** min(failures - 1, 30), 5)
    assert full / 2 <= backoff.delay(failures, chance) <= full


async def _run(queue: WorkQueue[str], until: asyncio.Event) -> None:
    running = asyncio.create_task(queue.run())
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
            return timedelta(0) if done.count("good") < 3 else None

        def say(key: str, error: Exception, delay_seconds: float) -> None:
            failed.append(f"{key}: {error}")
            assert delay_seconds > 0
            if len(failed) == 2:
                enough.set()

        queue = WorkQueue(work, say)
        queue.add("bad")
        queue.add("good")
        await _run(queue, enough)
        return done + failed

    assert asyncio.run(scenario()) == ["good"] * 3 + ["bad: broken"] * 2


def test_a_fleet_is_never_worked_on_twice_at_once() -> None:
    async def scenario() -> tuple[int, int]:
        at_once, most, runs, enough = 0, 0, 0, asyncio.Event()

        async def work(_: str) -> timedelta | None:
            nonlocal at_once, most, runs
            at_once += 1
            most = max(most, at_once)
            runs += 1
            queue.add("a")
            await asyncio.sleep(0)
            at_once -= 1
            if runs == 3:
                enough.set()
            return None

        queue: WorkQueue[str] = WorkQueue(work, lambda *_: None)
        queue.add("a")
        await _run(queue, enough)
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

        queue = WorkQueue(work, lambda *_: None, limit=1)
        assert (queue.depth, queue.longest_wait_seconds) == (0, 0.0)
        for key in ("a", "b", "c"):
            queue.add(key)
        await _run(queue, enough)
        return seen

    assert asyncio.run(scenario()) == [(2, True), (1, True), (0, False)]
