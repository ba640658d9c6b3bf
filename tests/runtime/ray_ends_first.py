"""A script whose author ends Ray before the collector; prints what it gets then. In a process of its own."""

from __future__ import annotations

import ray
from tests import envs
from tests.wait import eventually

from collectorfleet import FleetCollector, InfrastructureError


def main() -> None:
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    collector = FleetCollector(envs.make_counting, envs.make_policy(), num_collectors=1, frames_per_batch=20)
    batches = iter(collector)
    next(batches)
    thread = collector._engine.loop._thread
    ray.shutdown()
    try:
        while True:
            next(batches)
    except InfrastructureError as error:
        print(f"raised: {error}")
    eventually(lambda: not thread.is_alive(), within=30, what="the end of the gather thread")
    collector.shutdown()
    print(f"Ray is back: {ray.is_initialized()}")


if __name__ == "__main__":
    main()
