"""Errors while a batch is handed out, and threads that iterate over one collector."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from tensordict import TensorDictBase
from tests import envs
from tests.in_process_fleet import fleet
from tests.wait import eventually

from collectorfleet import CollectorClosed, InvalidOption, UserCodeError

OPTIONS: dict[str, Any] = {"num_collectors": 2, "frames_per_batch": 20, "total_frames": 80, "sync": True}


def test_an_error_of_postproc_ends_the_iteration_and_no_batch_follows() -> None:
    def fails(batch: TensorDictBase) -> TensorDictBase:
        calls.append(batch.numel())
        if len(calls) == 2:
            raise ValueError("no such key")
        return batch

    calls: list[int] = []
    with fleet(envs.make_counting, envs.make_policy(), postproc=fails, **OPTIONS) as collector:
        batches = iter(collector)
        next(batches)
        with pytest.raises(ValueError, match="no such key"):
            next(batches)
        with pytest.raises(StopIteration):
            next(batches)
        with pytest.raises(CollectorClosed):
            next(iter(collector))
    assert calls == [20, 20]


@pytest.mark.parametrize("iterators", [1, 2])
def test_a_second_thread_that_asks_for_a_batch_is_refused_and_the_first_gets_every_batch(iterators: int) -> None:
    def slow(batch: TensorDictBase) -> TensorDictBase:
        entered.set()
        assert may_go_on.wait(30)
        return batch

    def iterates() -> None:
        frames.extend(batch.numel() for batch in first)

    entered, may_go_on, frames = threading.Event(), threading.Event(), list[int]()
    with fleet(envs.make_counting, envs.make_policy(), postproc=slow, **OPTIONS) as collector:
        first = iter(collector)
        second = first if iterators == 1 else iter(collector)
        thread = threading.Thread(target=iterates)
        thread.start()
        assert entered.wait(30)
        with pytest.raises(InvalidOption, match=r"^iter\(collector\): another thread waits for the next batch"):
            next(second)
        may_go_on.set()
        thread.join(30)
    assert frames == [20] * 4


def test_a_thread_beside_a_started_collector_is_refused() -> None:
    def slow(batch: TensorDictBase) -> TensorDictBase:
        entered.set()
        assert may_go_on.wait(30)
        return batch

    entered, may_go_on = threading.Event(), threading.Event()
    with fleet(envs.make_counting, envs.make_policy(), postproc=slow, **OPTIONS) as collector:
        collector.replay_buffer = object()  # start() needs one; only collectors on Ray write to it
        collector.start()
        assert entered.wait(30)
        with pytest.raises(InvalidOption, match=r"^iter\(collector\): another thread waits for the next batch"):
            next(iter(collector))
        may_go_on.set()
        eventually(lambda: collector.counters()["frames"] == 80, within=30, what="all frames, by the started thread")


def test_a_postproc_that_exits_in_a_started_collector_is_an_error_of_the_users_code_at_the_next_publish() -> None:
    def exits(_: TensorDictBase) -> TensorDictBase:
        sys.exit("enough frames")

    with fleet(envs.make_counting, envs.make_policy(), postproc=exits, **OPTIONS) as collector:
        collector.replay_buffer = object()  # start() needs one; only collectors on Ray write to it
        collector.start()
        eventually(lambda: collector._consumer.over, within=30, what="the end of the run")
        with pytest.raises(UserCodeError, match=r"^start\(\): SystemExit: enough frames$"):
            collector.update_policy_weights_()


def test_threads_may_take_turns() -> None:
    with fleet(envs.make_counting, envs.make_policy(), **OPTIONS) as collector:
        frames: list[int] = []
        for _ in range(4):
            thread = threading.Thread(target=lambda: frames.append(next(iter(collector)).numel()))
            thread.start()
            thread.join(30)
    assert frames == [20] * 4
