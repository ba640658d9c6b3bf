"""The registry knows a process again, and does not take another one with the same pid for it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from tests.cluster.machine import Process

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="left out: reads /proc; use Linux")


def test_this_process_is_alive() -> None:
    assert Process.of(os.getpid()).alive


def test_an_earlier_process_of_the_same_pid_is_not() -> None:
    here = Process.of(os.getpid())
    assert not replace(here, started=here.started - 1).alive


def test_a_process_that_ended_is_not_alive_even_before_it_is_waited_for() -> None:
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    known = Process.of(child.pid)
    assert known.alive
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not known.alive
    child.wait()
