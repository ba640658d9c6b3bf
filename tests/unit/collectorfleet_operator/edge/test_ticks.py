"""What is listed when, and what is said, where lists are refused or not answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from collectorfleet_operator.edge.errors import RefusedError, UnavailableError
from collectorfleet_operator.edge.ticks import TICK_SECONDS, TICKS_PER_FULL_LIST, Step, Ticks


class Played:
    """Ticks of three steps, the API server of which fails as it is told."""

    def __init__(self) -> None:
        self.failing: dict[str, Exception] = {}  # by step
        self.taken: list[str] = []
        self.answers = 0
        self.is_to_end = False
        steps = [
            Step(self._step("often")),
            Step(self._step("all"), TICKS_PER_FULL_LIST),
            Step(self._step("warnings"), 2),
        ]
        self.ticks = Ticks(steps, self._hear, asyncio.Event())

    def _step(self, name: str) -> Callable[[], Awaitable[bool]]:
        async def take() -> bool:
            self.taken.append(name)
            if name in self.failing:
                raise self.failing[name]
            return self.is_to_end

        return take

    def _hear(self) -> None:
        self.answers += 1

    def tick(self, *, everything: bool = False) -> list[str]:
        self.taken.clear()
        asyncio.run(self.ticks.tick(everything=everything))
        return self.taken[:]


def refused() -> Exception:
    return RefusedError("list", "forbidden")


def unavailable() -> Exception:
    return UnavailableError("list", "too many requests")


def test_leases_are_listed_with_every_tick_and_everything_with_every_sixth() -> None:
    played = Played()
    # By twos, for short.
    taken = [(played.tick(), played.tick()) for _ in range(TICKS_PER_FULL_LIST // 2)]
    assert taken[:2] == [(["often"], ["often", "warnings"])] * 2
    assert taken[2] == (["often"], ["often", "all", "warnings"])
    assert played.tick(everything=True) == ["often", "all", "warnings"]
    assert played.ticks.pause_seconds == TICK_SECONDS
    assert played.answers == TICKS_PER_FULL_LIST + 1


@pytest.mark.parametrize("step", ["often", "all", "warnings"])
def test_a_list_that_is_refused_changes_nothing_of_when_and_what_is_listed(step: str) -> None:
    well, played = Played(), Played()
    played.failing[step] = refused()
    for _ in range(3 * TICKS_PER_FULL_LIST):
        assert played.tick() == well.tick()
        assert played.ticks.pause_seconds == TICK_SECONDS
    assert played.answers == well.answers


def test_a_refusal_is_said_once_and_its_end_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    played = Played()
    played.failing["warnings"] = refused()
    for _ in range(2 * TICKS_PER_FULL_LIST):
        played.tick()
    assert caplog.messages == ["the API server refuses a list: list: forbidden"]
    caplog.clear()
    played.failing.clear()
    for _ in range(2 * TICKS_PER_FULL_LIST):
        played.tick()
    assert caplog.messages == ["the API server answers again and accepts lists"]


def test_a_server_that_does_not_answer_is_asked_less_and_less_often_and_then_for_everything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    played = Played()
    played.failing["all"] = unavailable()
    pauses = []
    played.tick(everything=True)
    for _ in range(6):
        pauses.append(played.ticks.pause_seconds)
        assert played.tick() == ["often", "all"]
    assert pauses == [2, 4, 8, 16, 30, 30]
    assert played.answers == 0
    played.failing.clear()
    assert played.tick() == ["often", "all", "warnings"]
    assert played.ticks.pause_seconds == TICK_SECONDS
    assert played.answers == 1
    assert caplog.messages == [
        "the API server does not answer: list: too many requests",
        "the API server answers again",
    ]


def test_ticks_end_when_a_step_says_so() -> None:
    played = Played()
    played.is_to_end = True
    assert asyncio.run(played.ticks.tick(everything=True))
    assert played.taken == ["often"]


def test_a_watch_that_begins_has_everything_listed_at_once() -> None:
    taken = []

    async def take() -> bool:
        taken.append("all")
        return True

    async def run() -> bool:
        watch_began = asyncio.Event()
        watch_began.set()
        await Ticks([Step(take, TICKS_PER_FULL_LIST)], lambda: None, watch_began).run()
        return watch_began.is_set()

    assert not asyncio.run(run())
    assert taken == ["all"]
