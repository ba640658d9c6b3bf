"""Simulators that are started, wait, fail to start, or lose their port: each a real process."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from tests import simulated
from tests.simulated import running
from tests.wait import eventually

from collectorfleet import SimulatorProcess
from collectorfleet.actor.simulator import ports
from collectorfleet.actor.simulator.failure import SimulatorFailed
from collectorfleet.actor.simulator.ports import Reservation, listeners
from collectorfleet.actor.simulator.starting import PortTaken, start

# Fails to bind until its file has as many lines as it is told, and says so as most servers do.
LOSES_ITS_PORT = """
import pathlib, socket, sys
log, port, times = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
starts = log.read_text().split() if log.exists() else []
log.write_text(" ".join([*starts, str(port)]))
if len(starts) < times:
    print("OSError: [Errno 98] Address already in use", flush=True)
    sys.exit(1)
with socket.create_server(("127.0.0.1", port)) as server:
    server.accept()
"""


def loses_its_port(log: Path, times: int) -> SimulatorProcess:
    return SimulatorProcess([sys.executable, "-c", LOSES_ITS_PORT, str(log), "{grpc}", str(times)], ["grpc"])


def with_log(log: Path) -> list[int]:
    """Return the processes of simulators with this log, also of those that have not written into it yet."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("SIMULATOR_LOG") == str(log) and simulated.runs(process.pid):
                found.append(process.pid)
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_a_simulator_that_starts_slowly_is_waited_for(log: Path) -> None:
    started = start(simulated.process(log, "starts slowly"))
    try:
        assert listeners(started.ports.values())[started.ports["grpc"]]
        assert started.addresses == {"grpc": f"127.0.0.1:{started.ports['grpc']}"}
        assert len(running(log)) == 1
    finally:
        started.process.stop()
    eventually(lambda: not running(log), within=30, what="the end of the simulator")


def test_a_simulator_that_never_opens_its_port_is_ended_after_the_time_it_has(log: Path) -> None:
    # A shell, because a Python may need more than the second to print its line.
    script = f"echo $$ > {log}; echo loading the world; exec sleep 3600"
    with pytest.raises(SimulatorFailed) as raised:
        start(SimulatorProcess(["sh", "-c", script, "sh", "{grpc}"], ["grpc"], timedelta(seconds=1)))
    sentence = str(raised.value)
    assert "nothing listens on grpc (" in sentence
    assert (
        "after 1 s (readyTimeoutSeconds), although the process runs; use {grpc} in the command to pass the port"
        in sentence
    )
    assert sentence.endswith("its last lines: loading the world")
    eventually(lambda: not running(log), within=30, what="the end of the simulator")


def test_a_simulator_that_exits_at_once_is_told_with_its_code_and_is_not_tried_again(log: Path) -> None:
    with pytest.raises(SimulatorFailed, match=r"exited with code 3 before it listened .* its last lines: no licence"):
        start(simulated.process(log, "exits"))
    assert len(simulated.pids(log)) == 1


def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(SimulatorFailed, match=r"`./no-such-simulator`: could not be run: .*No such file"):
        start(SimulatorProcess(["./no-such-simulator"], ["grpc"]))


def test_an_argument_that_no_program_can_get_is_named() -> None:
    with pytest.raises(SimulatorFailed, match=r"`./server`: could not be run: embedded null byte"):
        start(SimulatorProcess(["./server", "a\0b"], ["grpc"]))


def test_a_simulator_whose_port_another_process_took_is_started_on_another(log: Path) -> None:
    started = start(loses_its_port(log, times=2))
    started.process.stop()
    ports = log.read_text().split()
    assert len(set(ports)) == 3
    assert str(started.ports["grpc"]) == ports[-1]


def test_another_program_that_listens_on_the_port_is_not_taken_for_the_simulator(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve, others = ports.reserve, []

    def reserve_too_late(names: Sequence[str]) -> Reservation:
        reservation = reserve(names)
        if not others:
            others.append(socket.create_server(("127.0.0.1", reservation.ports["grpc"])))
        return reservation

    monkeypatch.setattr(ports, "reserve", reserve_too_late)
    started = start(simulated.process(log, "starts slowly"))
    started.process.stop()
    with others[0] as other:
        assert started.ports["grpc"] != other.getsockname()[1]
    eventually(lambda: not with_log(log), within=30, what="the end of both")


def test_a_child_of_the_simulator_may_be_the_one_that_listens(log: Path) -> None:
    command = simulated.process(log).command
    started = start(SimulatorProcess(["sh", "-c", 'setsid "$@" & wait', "sh", *command], ["grpc"]))
    started.process.stop()
    assert len(simulated.pids(log)) == 1
    eventually(lambda: not running(log), within=30, what="the end of the simulator")


def test_a_simulator_that_finds_no_port_is_given_up_with_the_first_cause(log: Path) -> None:
    with pytest.raises(SimulatorFailed) as raised:
        start(loses_its_port(log, times=100))
    assert "Address already in use; the simulator did not start in 3 tries, each with other ports" in str(raised.value)
    assert isinstance(raised.value.__cause__, PortTaken)
    assert len(log.read_text().split()) == 3


def test_the_longest_time_to_be_ready_is_a_minute_by_default() -> None:
    assert SimulatorProcess(["./sim"], ["grpc"]).ready_timeout == timedelta(minutes=1)
