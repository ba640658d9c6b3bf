"""No process of a simulator outlives who started it, and its output does not stop it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests import simulated
from tests.forks.program import Program
from tests.simulated import running, runs
from tests.wait import eventually

from collectorfleet.actor.simulator import supervisor
from collectorfleet.actor.simulator.process import SimulatorProcess
from collectorfleet.actor.simulator.starting import start

# Starts a simulator from a thread that ends, forks a child that lives on, and waits to be killed.
OWNER = """
import os, sys, threading, time
from pathlib import Path
from tests import simulated
from collectorfleet.actor.simulator import process
from collectorfleet.actor.simulator.starting import start
process.GRACE_SECONDS = 0.5
if sys.argv[3] == "an old kernel":
    process._pidfd = lambda: -1
starter = threading.Thread(target=start, args=(simulated.process(Path(sys.argv[1]), *sys.argv[4:]),))
starter.start()
starter.join()
if os.fork() == 0:
    Path(sys.argv[2]).write_text(str(os.getpid()))
    time.sleep(3600)
time.sleep(3600)
"""
FLOODS = "import sys\nfor n in range(200_000): print('line', n)\nsys.exit(4)"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.mark.parametrize("kernel", ["a new kernel", "an old kernel"])
def test_a_simulator_ends_with_a_killed_owner_though_a_fork_of_the_owner_lives(
    log: Path, tmp_path: Path, kernel: str
) -> None:
    fork = tmp_path / "fork"
    script = tmp_path / "owner.py"
    script.write_text(OWNER)
    with Program([script, log, fork, kernel, "ignores SIGTERM", "has a child"]) as owner:
        eventually(lambda: fork.exists() and fork.read_text(), within=90, what="a simulator and a fork")
        child = int(fork.read_text())
        try:
            assert len(running(log)) == 2  # the thread that started them has ended
            owner.kill()
            owner.wait()
            eventually(lambda: not running(log), within=30, what="the end of the simulator and of its child")
            assert runs(child)
        finally:
            owner.kill()
            os.kill(child, signal.SIGKILL)


def test_a_simulator_and_its_child_end_with_a_collector_that_was_frozen_before_it_was_killed(log: Path) -> None:
    control, theirs = socket.socketpair()  # a frozen collector reads no message, and the kernel resets its connection
    command = ["/usr/bin/env", f"SIMULATOR_LOG={log}", sys.executable, str(simulated.PROGRAM), "0", "has a child"]
    words = [sys.executable, "-I", "-S", supervisor.__file__, str(theirs.fileno()), "-1", "0.5"]
    subprocess.run([*words, *command], pass_fds=[theirs.fileno()], check=True)
    theirs.close()
    eventually(lambda: len(running(log)) == 2, within=30, what="a simulator with a child")
    control.close()
    eventually(lambda: not running(log), within=30, what="the end of the simulator and of its child")


def test_a_simulator_ends_with_its_supervisor(log: Path) -> None:
    started = start(simulated.process(log, "ignores SIGTERM"))
    (pid,) = running(log)
    parent = psutil.Process(pid).parent()
    assert parent is not None
    parent.kill()
    eventually(lambda: not running(log), within=30, what="the end of the simulator")
    assert started.process.ended.wait(30)
    assert str(started.process.exit) == "ended together with its supervisor process"


def test_a_simulator_that_prints_without_end_is_not_held_up_and_its_last_lines_are_kept() -> None:
    process = SimulatorProcess([sys.executable, "-c", FLOODS], {}, [])
    assert process.ended.wait(60)
    assert process.exit is not None
    assert process.exit.code == 4
    assert process.tail()[-1] == "line 199999"
    assert len(process.tail()) == 100


def test_the_supervisor_is_no_child_of_the_collector(log: Path) -> None:
    started = start(simulated.process(log))
    try:
        (pid,) = running(log)
        parent = psutil.Process(pid).parent()
        assert parent is not None
        assert parent.ppid() != os.getpid()
        assert os.getpgid(pid) == pid
    finally:
        started.process.stop()
    eventually(lambda: not running(log), within=30, what="the end of the simulator")
