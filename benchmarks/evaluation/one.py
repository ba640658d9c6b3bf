"""One measurement: PPO on CartPole for a number of batches, with or without an evaluation beside it."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final

import gymnasium
import torch
from examples.evaluation import evaluation as example
from gymnasium.vector import AutoresetMode
from tensordict import TensorDictBase
from torchrl.envs import EnvBase, GymWrapper, InitTracker, TransformedEnv

from benchmarks.common import child
from collectorfleet import Evaluation, FleetCollector
from collectorfleet.run.handle import Run

ENVIRONMENTS: Final = 16
COLLECTORS: Final = 2
FRAMES: Final = 1024
EPISODES: Final = 10
EVERY_VERSIONS: Final = 10
# The first batches are left out, because their times include the start of the collectors.
_WARM_UP: Final = 2
_SLEEP_SECONDS: Final = 0.004


class Sleeping(GymWrapper):
    """An environment that sleeps for 4 ms in each step, like a simulator in another process."""

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        time.sleep(_SLEEP_SECONDS)
        return super()._step(tensordict)


def make_sleeping(num_envs: int) -> EnvBase:
    """Return ``num_envs`` CartPoles that step together and sleep once per step."""
    envs = gymnasium.make_vec(
        "CartPole-v1",
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
    )
    return TransformedEnv(Sleeping(envs, categorical_action_encoding=True), InitTracker())


MAKE: Final = {"CartPole": example.make_env, "CartPole that sleeps": make_sleeping}


class Timed:
    """The collector that the training function gets. ``times`` has the arrival time of each batch in seconds."""

    def __init__(self, collector: FleetCollector) -> None:
        self._collector = collector
        self.policy = collector.policy
        self.times: list[float] = []

    def __iter__(self) -> Any:
        for batch in self._collector:
            self.times.append(time.perf_counter())
            yield batch


def run(case: dict[str, Any]) -> dict[str, float]:
    """Train for ``case["batches"]`` batches.

    ``case["environment"]`` is a key of :data:`MAKE`. ``case["evaluates"]`` says whether an evaluation runs. Returns the
    frames per second, the number of evaluations during the training and their mean duration in seconds.
    """
    torch.manual_seed(0)
    make = MAKE[case["environment"]]
    evaluation = Evaluation(
        create_env_fn=partial(make, num_envs=EPISODES), episodes=EPISODES, every_versions=EVERY_VERSIONS
    )
    collector = FleetCollector(
        partial(make, num_envs=ENVIRONMENTS),
        example.make_policy(),
        num_collectors=COLLECTORS,
        frames_per_batch=FRAMES,
        total_frames=FRAMES * case["batches"],
        sync=True,
        max_staleness=1,
        update_after_each_batch=True,
        transport="torch_distributed",
        evaluation=evaluation if case["evaluates"] else None,
    )
    timed = Timed(collector)
    train = Run()
    if case["evaluates"]:
        train.set_evaluations(collector.evaluations)
    else:
        train.set_evaluations(list)
    example.train(timed, train)
    seconds = timed.times[-1] - timed.times[_WARM_UP]
    during = [one for one in collector.evaluations() if one.version < case["batches"]] if case["evaluates"] else []
    return {
        "frames/s": FRAMES * (len(timed.times) - 1 - _WARM_UP) / seconds,
        "evaluations": len(during),
        "s of an evaluation": sum(one.seconds for one in during) / max(len(during), 1),
    }


if __name__ == "__main__":
    child.serve(run)
