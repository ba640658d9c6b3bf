"""Collectors with a simulator beside their environment: what a user of FleetCollector sees."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from tests import envs, simulated
from tests.runtime.batches import Make
from tests.simulated import running
from tests.wait import eventually

from collectorfleet import Evaluation, FleetCollector, UserCodeError
from collectorfleet_api.v1alpha1 import CollectorState

T = TypeVar("T")
TRANSPORTS = ["object_store", "torch_distributed"]


@pytest.fixture(params=TRANSPORTS)
def fleet(request: pytest.FixtureRequest, make: Make) -> Make:
    if request.param == "object_store":
        request.getfixturevalue("local_ray")
    return partial(make, transport=request.param, create_env_fn=simulated.make)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "simulators"


def read_until(collector: FleetCollector, reached: Callable[[], T]) -> T:
    """Read batches until ``reached()`` holds, and return what it returned."""
    batches = iter(collector)

    def probe() -> T:
        next(batches)
        return reached()

    return eventually(probe, within=120, every=0)


def are_gone(log: Path) -> None:
    eventually(lambda: not running(log), within=30, what="the end of all simulators")


def restarted(collector: FleetCollector) -> str | None:
    """Return the error of the collector that was restarted once and works again; None before that."""
    rows = collector.status().collectors
    errors = [row.last_error for row in rows if row.restarts]
    works = all(row.state == CollectorState.READY for row in rows)
    return errors[0] if len(errors) == 1 and works else None


def test_a_simulator_that_dies_costs_a_restart_of_its_collector_with_a_new_simulator(fleet: Make, log: Path) -> None:
    collector = fleet(process=simulated.process(log, "dies", "once"), on_environment_error="restart")
    error = read_until(collector, lambda: restarted(collector))
    assert "exited with code 7, and the environment raised Connection" in error
    assert "its last lines: a client is here | step 30 goes wrong" in error
    assert len(simulated.pids(log)) == 3
    collector.shutdown()
    are_gone(log)


def test_a_simulator_that_hangs_costs_a_restart_in_place_of_the_run(fleet: Make, log: Path) -> None:
    collector = fleet(
        process=simulated.process(log, "hangs", "once"),
        on_environment_error="restart",
        request_timeout=timedelta(seconds=10),
        first_request_timeout=timedelta(seconds=90),
    )
    error = read_until(collector, lambda: restarted(collector))
    assert "and the simulator still runs; its last lines: a client is here | step 30 goes wrong" in error
    collector.shutdown()
    are_gone(log)


def test_a_simulator_that_dies_ends_the_run_unless_the_user_says_otherwise(fleet: Make, log: Path) -> None:
    collector = fleet(process=simulated.process(log, "dies"), total_frames=400)
    with pytest.raises(UserCodeError, match=r"environment make \(collector c\d\): simulator .* exited with code 7"):
        list(collector)
    collector.shutdown()
    are_gone(log)


def test_collectors_of_one_fleet_may_have_different_simulators_or_none(fleet: Make, log: Path) -> None:
    collector = fleet(
        create_env_fn=[simulated.make, envs.make_counting],
        process=[simulated.process(log), None],
        num_collectors=2,
    )
    read_until(collector, lambda: all(row.frames for row in collector.status().collectors))
    assert len(running(log)) == 1
    collector.shutdown()
    are_gone(log)


def test_an_evaluator_has_a_simulator_of_its_own_and_restarts_with_it(fleet: Make, log: Path, tmp_path: Path) -> None:
    evaluators = tmp_path / "of evaluators"
    collector = fleet(
        process=simulated.process(log),
        policy=envs.make_policy(),
        total_frames=200,
        sync=True,
        update_after_each_batch=True,
        on_environment_error="restart",
        evaluation=Evaluation(every_versions=1, episodes=8, process=simulated.process(evaluators, "dies", "once")),
    )
    for _ in collector:
        pass
    collector.finish_evaluation()
    assert collector.evaluations()
    assert len(simulated.pids(evaluators)) == 2
    status = collector.status().evaluation
    assert status is not None
    assert status.restarts == 1
    collector.shutdown()
    are_gone(log)
    are_gone(evaluators)


def test_a_factory_that_takes_no_addresses_is_named(fleet: Make, log: Path) -> None:
    collector = fleet(create_env_fn=envs.make_policy, process=simulated.process(log), total_frames=100)
    with pytest.raises(
        UserCodeError, match=r"make_policy has no parameter 'process'; add this parameter, which receives"
    ):
        list(collector)
    collector.shutdown()
    are_gone(log)
