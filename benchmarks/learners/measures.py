"""Measures one side in a child process: the frames per second, and the driver's CPU time per frame."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import ray

from benchmarks.common.child import local_ray, serve
from benchmarks.common.patience import expecting
from benchmarks.learners.workload import SAMPLED, InParts, Regression, name_of, team
from benchmarks.raycollector.workloads import environment

ENVS = 8
CAPACITY = 4000
WARM_UP = 5  # batches
NUMBERS = {False: 4, True: 4 * 84 * 84}


def run(case: dict[str, Any]) -> dict[str, Any]:
    with local_ray():
        return _sharded(case) if case["policies"] else _in_driver(case)


def _in_driver(case: dict[str, Any]) -> dict[str, Any]:
    from collectorfleet import FleetCollector
    from collectorfleet.learners.replay import PolicyReplay

    policy, learner, replay = team(1), Regression(NUMBERS[case["pixels"]]), PolicyReplay(CAPACITY)
    collector = FleetCollector(environment(pixels=case["pixels"], envs=ENVS), policy, **_options(case))

    def learn(batch: Any) -> None:
        replay.extend(name_of(0), batch.reshape(-1))
        learner.learn(replay.sample(name_of(0), SAMPLED))
        policy.module.parts[0].load_state_dict(learner.weights())
        collector.update_policy_weights_()

    return _measured(collector, learn, case)


def _sharded(case: dict[str, Any]) -> dict[str, Any]:
    from collectorfleet import FleetCollector, LearnerFeed, LearnerShards

    number = case["policies"]
    shards = LearnerShards(
        Regression,
        number,
        config={"numbers": NUMBERS[case["pixels"]]},
        replay_config={"capacity": CAPACITY // number},
    )
    for index in range(number):
        shards.add_policy(name_of(index))
    policy = team(number)
    parts = {name_of(index): part for index, part in enumerate(policy.module.parts)}
    feed = LearnerFeed(shards, parts, InParts(number))
    collector = FleetCollector(
        environment(pixels=case["pixels"], envs=ENVS), policy, replay_buffer=feed.replay_buffer, **_options(case)
    )

    def learn(_: None) -> None:
        sampled = SAMPLED // number
        ray.get([learner.learn.remote(replay.sample.remote(name, sampled)) for name, learner, replay in shards])
        feed.publish(collector)

    return _measured(collector, learn, case)


def _options(case: dict[str, Any]) -> dict[str, Any]:
    return {"num_collectors": 2, "frames_per_batch": case["frames"]}


def _measured(collector: Any, learn: Callable[[Any], None], case: dict[str, Any]) -> dict[str, Any]:
    batches = iter(collector)
    with expecting("the first batches", 90):
        for _ in range(WARM_UP):
            learn(next(batches))
    started, cpu = time.perf_counter(), time.process_time()
    with expecting(f"{case['batches']} batches", 120):
        for _ in range(case["batches"]):
            learn(next(batches))
    frames = case["batches"] * case["frames"]
    found = {
        "frames/s": frames / (time.perf_counter() - started),
        "driver us": (time.process_time() - cpu) / frames * 1e6,
    }
    with expecting("shutdown", 30):
        collector.shutdown(timeout=20)
    return found


if __name__ == "__main__":
    serve(run)
