"""The status names the loop that steps now."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.unit.collectorfleet.gather.world import working

from collectorfleet.fleet.report import report


def test_the_status_follows_a_collector_that_changes_its_loop() -> None:
    fleet = working(timedelta(seconds=60))
    answer = fleet.world.answer(fleet.remote("c0"))
    fleet.world.messages[-1] = replace(answer, loop="TorchRL: a module of the policy has hooks")
    fleet.turn()
    assert report(fleet.shared, 0.0, "World", 0).collectors[0].rollout == "TorchRL: a module of the policy has hooks"
