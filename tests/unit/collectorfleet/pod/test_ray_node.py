"""A driver pod joins its Ray cluster, or says why it cannot."""

from __future__ import annotations

import subprocess
import threading
from typing import NoReturn

import pytest

from collectorfleet.pod.ray_node import RayNode
from collectorfleet.run.endings import EndReason
from collectorfleet.run.stop import StopNow, StopReason, StopRequest


def test_a_process_that_cannot_be_started_in_time_is_raised_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise TimeoutError(110, "Connection timed out")  # as of a Python on a network's file system

    monkeypatch.setattr(subprocess, "run", fail)
    stop = StopRequest()
    timer = threading.Timer(60, stop.request, [StopReason(EndReason.ORDERED, "the test waited for too long")])
    timer.start()
    with pytest.raises((TimeoutError, StopNow)) as caught:
        RayNode("127.0.0.1:1", stop).wait_until_joined()
    timer.cancel()
    stop.run_ended()
    assert "Connection timed out" in str(caught.value)
