"""A collector that cannot be reached, of which Ray does not know whether it lives."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import ray
from tests.contract.harness import AGAIN, C0, PLAIN, Harness, make_gated, over_ray, waits_at
from tests.paused import paused

from collectorfleet.messages import Answer, Fault, Lost

pytestmark = pytest.mark.usefixtures("local_ray")


@contextmanager
def nobody_tells_of_deaths() -> Iterator[None]:
    """The raylet, which does, is stopped."""
    (raylet,) = ray._private.worker._global_node.all_processes["raylet"]
    with paused(raylet.process.pid):
        yield


def test_one_that_is_unavailable_is_said_to_be_and_another_takes_its_slot(gate: Path) -> None:
    harness = Harness(over_ray)
    harness.config = replace(PLAIN, create_env=partial(make_gated, str(gate)))
    try:
        started = harness.start()
        harness.ask(C0)
        waits_at(gate)
        with nobody_tells_of_deaths():
            os.kill(started.pid, signal.SIGKILL)
            lost = harness.hear(Lost)
        assert (lost.collector, lost.fault, lost.request_id) == (C0, Fault.DIED, None)
        assert lost.cause.startswith("ActorUnavailableError: The actor ")
        assert " is unavailable: " in lost.cause
        gate.touch()
        harness.transport.stop(C0)
        harness.start(incarnation=2)
        harness.ask(AGAIN)
        assert harness.hear(Answer).collector == AGAIN
    finally:
        harness.transport.close()
