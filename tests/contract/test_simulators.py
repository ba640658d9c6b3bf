"""What every transport has to do for collectors that start a simulator beside their environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests import simulated
from tests.contract.harness import AGAIN, C0, PLAIN, Harness
from tests.simulated import running
from tests.wait import eventually

from collectorfleet.messages import Answer, CollectorId, Raised

# Processes of RPC start and end as those of a process group do (collectorfleet/transport/processes).
RPC = pytest.param(
    "rpc",
    marks=pytest.mark.variant_of(
        "tests/contract/test_simulators.py::test_each_collector_has_a_simulator_of_its_own_which_ends_with_it"
    ),
)
pytestmark = pytest.mark.parametrize("harness", ["in_process", "ray", "process_group", RPC], indirect=True)
CONFIG = replace(PLAIN, create_env=simulated.make)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where simulators note their process ids."""
    return tmp_path / "simulators"


def test_each_collector_has_a_simulator_of_its_own_which_ends_with_it(harness: Harness, log: Path) -> None:
    harness.config = replace(CONFIG, simulator=simulated.watched(log))
    for name in ("c0", "c1"):
        started = harness.start(name)
        harness.ask(started.collector)
        assert harness.hear(Answer, started.collector).frames > 0
    assert len(running(log)) == 2
    harness.transport.stop(C0)
    eventually(lambda: len(running(log)), within=30, until=lambda left: left == 1, what="the end of c0's simulator")
    harness.ask(CollectorId("c1", 1))
    harness.hear(Answer)


def test_no_process_of_a_simulator_outlives_a_collector_that_is_killed(harness: Harness, log: Path) -> None:
    harness.config = replace(CONFIG, simulator=simulated.watched(log, "ignores SIGTERM", "has a child"))
    started = harness.start()
    assert len(running(log)) == 2
    harness.backdoor.kill(started)
    eventually(lambda: not running(log), within=30, what="the end of the simulator and its child")


def test_a_simulator_that_dies_is_an_error_of_the_environment_with_its_code_and_last_lines(
    harness: Harness, log: Path
) -> None:
    harness.config = replace(CONFIG, simulator=simulated.watched(log, "dies", "once"))
    harness.start()
    harness.ask(C0, frames=60)
    raised = harness.hear(Raised)
    assert raised.by_environment
    assert raised.where == "environment make"
    assert "exited with code 7, and the environment raised Connection" in raised.cause
    assert raised.cause.endswith("its last lines: a client is here | step 30 goes wrong")
    harness.transport.stop(C0)
    harness.start(incarnation=2)
    harness.ask(AGAIN, frames=60)
    assert harness.hear(Answer, AGAIN).frames == 60


def test_the_end_of_a_simulator_is_told_also_if_the_environment_does_not_notice(harness: Harness, log: Path) -> None:
    harness.config = replace(CONFIG, create_env=simulated.make_deaf, simulator=simulated.watched(log, "dies"))
    harness.start()
    harness.ask(C0, frames=60)
    raised = harness.hear(Raised)
    assert raised.by_environment
    assert "exited with code 7; its last lines: a client is here | step 30 goes wrong" in raised.cause


def test_a_simulator_that_hangs_is_an_error_of_the_environment(harness: Harness, log: Path) -> None:
    harness.config = replace(CONFIG, simulator=simulated.watched(log, "hangs", request_seconds=5))
    harness.start()
    harness.ask(C0, frames=60)
    raised = harness.hear(Raised)
    assert raised.by_environment
    assert "the environment has waited for 4 s, and the simulator still runs" in raised.cause
    assert raised.cause.endswith("step 30 goes wrong")


def test_a_simulator_that_does_not_start_is_an_error_of_the_environment(harness: Harness, log: Path) -> None:
    harness.config = replace(CONFIG, simulator=simulated.watched(log, "exits"))
    harness.transport.start(C0)
    raised = harness.hear(Raised)
    assert raised.by_environment
    assert "exited with code 3 before it listened on its ports; its last lines: no licence" in raised.cause


def test_each_evaluator_has_a_simulator_of_its_own(harness: Harness, log: Path) -> None:
    harness.config = replace(
        CONFIG, frames_per_request=0, plays_episodes=True, simulator=simulated.watched(log, "dies")
    )
    weights = harness.store(1, 1.0)
    for name in ("c0", "c1"):
        started = harness.start(name)
        harness.ask(started.collector, frames=0, min_version=1, version=1, seed=0, weights=weights)
        assert harness.hear(Answer, started.collector).frames == 5
    assert len(running(log)) == 2
    assert {psutil.Process(pid).nice() for pid in running(log)} == {19}  # training goes first
    harness.transport.stop(C0)
    for seed in range(10):
        harness.ask(CollectorId("c1", 1), frames=0, min_version=1, version=1, seed=seed)
    assert "exited with code 7" in harness.hear(Raised).cause
