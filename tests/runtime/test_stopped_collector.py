"""A fleet over RPC while a collector's process is stopped, and the threads that a shutdown leaves."""

from __future__ import annotations

import threading
import time

import pytest
from tests import envs
from tests.paused import pause
from tests.runtime.batches import Make

RPC_SECONDS = 60.0


def test_a_stopped_collector_with_weights_under_way_delays_neither_publishing_nor_batches(make: Make) -> None:
    policy = envs.make_large_policy()  # more than a socket holds
    calls = {"rpc_timeout": RPC_SECONDS}
    collector = make(policy=policy, transport="rpc", sync=False, tensorpipe_options=calls)
    batches = iter(collector)
    next(batches)
    collector.update_policy_weights_(wait=True)
    collector.update_policy_weights_()
    pause(collector.remote_collectors[1].pid)
    began = time.monotonic()
    for _ in range(10):
        collector.update_policy_weights_()
        next(batches)
    # A call to the stopped collector that blocked would block until its timeout.
    assert time.monotonic() - began < RPC_SECONDS
    first, stopped = collector.status().collectors
    assert (first.restarts, stopped.restarts) == (0, 0)
    weights = collector.status().weights
    assert weights is not None
    assert weights.published > 10


@pytest.mark.parametrize("transport", ["rpc", "torch_distributed"])
def test_a_shutdown_leaves_no_thread_that_could_free_tensors_while_python_exits(make: Make, transport: str) -> None:
    before = set(threading.enumerate())
    collector = make(policy=envs.make_large_policy(), transport=transport)
    next(iter(collector))
    collector.shutdown()
    left = {thread for thread in set(threading.enumerate()) - before if thread.is_alive()}
    assert [thread.name for thread in left if "watch" in thread.name] == []
