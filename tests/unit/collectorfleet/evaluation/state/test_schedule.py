"""Which published versions are evaluated, by versions, seconds or frames."""

from __future__ import annotations

import pytest

from collectorfleet.evaluation.state.schedule import Interval, Schedule


def test_every_third_version_is_due() -> None:
    schedule = Schedule(Interval(versions=3))
    assert [version for version in range(1, 11) if schedule.is_due(version, 0, 0.0)] == [3, 6, 9]


def test_versions_of_a_resumed_run_are_due_at_the_same_numbers() -> None:
    schedule = Schedule(Interval(versions=10))
    assert [version for version in range(18, 42) if schedule.is_due(version, 0, 0.0)] == [20, 30, 40]


def due_at(interval: Interval, times: list[float]) -> list[float]:
    schedule = Schedule(interval)
    return [now for version, now in enumerate(times, 1) if schedule.is_due(version, 0, now)]


def test_the_first_version_after_so_many_seconds_is_due() -> None:
    assert due_at(Interval(seconds=10.0), [100.0, 105.0, 111.0, 112.0, 120.0, 121.0]) == [111.0, 120.0]


def test_late_publishes_do_not_shift_later_evaluations() -> None:
    # Due at 10, 20, 30, ... seconds after the first version, however late each publish is.
    assert due_at(Interval(seconds=10.0), [0.0, 19.0, 20.0, 29.0, 30.0]) == [19.0, 20.0, 30.0]


def test_evaluations_that_no_publish_came_for_are_not_made_up_for() -> None:
    assert due_at(Interval(seconds=10.0), [0.0, 45.0, 46.0, 47.0, 50.0]) == [45.0, 50.0]


def due_frames(every: int, frames: list[int]) -> list[int]:
    schedule = Schedule(Interval(frames=every))
    return [handed_out for version, handed_out in enumerate(frames, 1) if schedule.is_due(version, handed_out, 0.0)]


def test_the_first_version_after_so_many_frames_is_due() -> None:
    assert due_frames(100, [0, 40, 80, 120, 160, 200, 240]) == [120, 200]


def test_a_batch_of_several_intervals_is_evaluated_once() -> None:
    assert due_frames(10, [0, 64, 128]) == [64, 128]


def test_a_resumed_run_goes_on_at_the_multiples_of_its_first_run() -> None:
    # 130 frames were handed out before the run was resumed.
    assert due_frames(100, [130, 170, 210, 250, 290, 330]) == [210, 330]


def test_no_interval_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="has no interval"):
        Schedule(Interval()).is_due(1, 0, 0.0)
