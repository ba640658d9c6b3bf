"""The collector of a training function is TorchRL's kind, and a FleetCollector but for two methods."""

from __future__ import annotations

from torchrl.collectors import BaseCollector

from collectorfleet import FleetCollector
from collectorfleet.run.run_collector import RunCollector


def test_code_that_asks_for_a_collector_of_torchrl_gets_one() -> None:
    assert issubclass(RunCollector, FleetCollector)
    assert issubclass(RunCollector, BaseCollector)


def test_a_run_adds_something_to_iterating_publishing_and_ending_and_to_nothing_else() -> None:
    public = {name for name in vars(RunCollector) if not name.startswith("_")}
    at_the_end = {"finish_evaluation", "stop_evaluating", "shutdown", "end"}
    assert public == {"position", "iterator", "publish", "update_policy_weights_"} | at_the_end
    assert not hasattr(FleetCollector, "position")
