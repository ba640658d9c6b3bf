"""Run in a process of its own: a Ray of two nodes loses the one that a collector runs on, all of it at once."""

from __future__ import annotations

import contextlib
import os
import signal

import ray
from ray.cluster_utils import Cluster
from tests import envs
from tests.wait import eventually

from collectorfleet import FleetCollector
from collectorfleet.transport.ray import node_watch

# Ray finds a node dead after three seconds in place of half a minute.
QUICKLY = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 6}


def main() -> None:
    node_watch.EVERY_SECONDS = 0.5
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": QUICKLY})
    doomed = cluster.add_node(num_cpus=1, resources={"collector": 1})
    ray.init(address=cluster.address)
    collector = FleetCollector(
        envs.make_counting,
        envs.make_policy(),
        num_collectors=1,
        frames_per_batch=20,
        sync=False,
        remote_configs={"num_cpus": 0, "resources": {"collector": 1}},
    )
    batches = iter(collector)
    next(batches)
    cluster.add_node(num_cpus=1, resources={"collector": 1})
    slot = collector._consumer.shared.slots.by_name["c0"]
    actor = collector._consumer.shared.gather.collectors.named("c0")
    assert actor is not None
    assert actor.pid is not None
    raylet = doomed.all_processes["raylet"][0].process.pid
    # The raylet first: while it lives, Ray may start the replacement on this node, which would be a second loss.
    os.kill(raylet, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # a worker ends with its raylet
        os.kill(actor.pid, signal.SIGKILL)
    eventually(lambda: next(batches) is not None and slot.restarts > 0, within=90, every=0)
    eventually(lambda: not slot.charges, within=60, what="its forgiveness")
    status = collector.status()
    collector.shutdown()
    ray.shutdown()
    cluster.shutdown()
    print(f"restarts: {slot.restarts}, of the budget: {len(slot.charges)}")
    print(status.collectors[0].last_error)


if __name__ == "__main__":
    main()
