"""The operator ends, whatever its tasks do when they are cancelled."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

import pytest

from collectorfleet_operator.edge import task_end
from collectorfleet_operator.edge.app import _until_first
from collectorfleet_operator.edge.task_end import TasksHang, end_all


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_end, "AGAIN_SECONDS", 0.1)


async def stubborn(times: int) -> None:
    """Ignore the first cancellations."""
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            times -= 1
            if times < 0:
                raise


async def fails() -> None:
    raise ZeroDivisionError


async def started(*tasks: asyncio.Task[None]) -> None:
    await asyncio.sleep(0.01)
    await end_all(tasks, 0.1)


def test_tasks_end_with_their_cancellation_or_an_error_of_their_own() -> None:
    async def main() -> None:
        tasks = [asyncio.create_task(stubborn(0)), asyncio.create_task(fails())]
        await started(*tasks)
        assert all(task.done() for task in tasks)
        await end_all([])

    asyncio.run(main())


def test_a_task_that_ignores_a_cancellation_is_named_and_cancelled_again(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        await started(asyncio.create_task(stubborn(1), name="queue"), asyncio.create_task(stubborn(0), name="watch"))

    asyncio.run(main())
    assert caplog.messages == ["cancelling these tasks again, because they did not end within 0.1 s: queue"]


def test_tasks_that_ignore_each_cancellation_are_an_error_with_their_names() -> None:
    async def main() -> None:
        tasks = [asyncio.create_task(stubborn(2), name=name) for name in ("queue", "code")]
        with pytest.raises(TasksHang, match=r"^these tasks ignore their cancellation: code, queue$"):
            await started(*tasks)

    asyncio.run(main())


def test_a_session_that_hangs_ends_the_operator_although_it_was_cancelled() -> None:
    async def session() -> None:
        inner = asyncio.create_task(stubborn(2), name="queue")
        try:
            await asyncio.sleep(60)
        finally:
            await end_all([inner], 0.1)

    async def lease_is_lost() -> None:
        await asyncio.sleep(0.01)

    with pytest.raises(TasksHang, match="queue"):
        asyncio.run(_until_first(session(), lease_is_lost()))


def test_a_session_that_is_cancelled_while_it_ends_its_tasks_still_waits_for_them() -> None:
    """Or another session would begin beside the tasks of this one."""
    ended: list[str] = []

    async def watch() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            ended.append("watch")

    async def session() -> None:
        inner = asyncio.create_task(watch())
        await asyncio.sleep(0.01)
        await end_all([inner])

    async def main() -> None:
        task = asyncio.create_task(session())
        await asyncio.sleep(0.03)
        await end_all([task])
        assert ended == ["watch"]

    asyncio.run(main())


PROGRAM = """
import asyncio
from collectorfleet_operator import __main__
from collectorfleet_operator.edge import app
from collectorfleet_operator.edge.task_end import end_all

async def hang():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

async def run(_settings):
    task = asyncio.create_task(hang(), name="queue")
    await asyncio.sleep(0.01)
    await end_all([task], 0.1)

app.run = run
__main__.main()
"""


def test_the_process_exits_and_names_the_task_that_hangs() -> None:
    began = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, env=environment, timeout=60
    )
    assert done.returncode == 70, done.stderr
    assert "the process exits: these tasks ignore their cancellation: queue" in done.stderr
    assert time.monotonic() - began < 50
