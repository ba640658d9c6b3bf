"""What collectors are told may take its time: nobody who wants the lock waits for that."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan

HOUR = timedelta(hours=1)
TOLD = ("start", "offer", "submit", "cut_short", "stop")


def test_nothing_is_told_under_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(shares=2, frames_per_share=FRAMES, in_order=True, bound=1, total_frames=None, cut_short_after=1)
    fleet = Played(plan, collectors=2, limits=Limits(HOUR, HOUR, HOUR, min_available=1))
    told: dict[str, list[bool]] = {name: [] for name in TOLD}

    def lock_is_free() -> bool:
        def take() -> None:
            with fleet.shared.changed:
                pass

        other = threading.Thread(target=take, daemon=True)
        other.start()
        other.join(timeout=60)
        return not other.is_alive()

    def watched(name: str) -> Any:
        tell = getattr(fleet.world, name)

        def watching(*arguments: Any) -> None:
            told[name].append(lock_is_free())
            tell(*arguments)

        return watching

    for name in TOLD:
        monkeypatch.setattr(fleet.world, name, watched(name))
    fleet.consumer.stage("weights")
    fleet.turn()
    for remote in fleet.world.alive.values():
        fleet.world.build(remote)
    fleet.turn()
    fleet.turn()
    for remote in fleet.world.alive.values():
        fleet.world.load(remote)
    fleet.turn()
    fleet.consumer.request_batch()
    fleet.turn()
    fleet.world.answer(fleet.remote("c0"))
    fleet.turn()
    fleet.turn()
    fleet.world.die(fleet.remote("c1"))
    fleet.turn()
    assert {name: set(free) for name, free in told.items()} == {name: {True} for name in TOLD}
