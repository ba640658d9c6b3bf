"""The user's code of both sides of the start benchmark: CartPole, a small policy, one batch.

The benchmark mounts the file into the pods of both sides. ``by_hand`` is the code of a user of KubeRay and TorchRL,
``train`` the same for a fleet. The benchmark reads lines ``milestone <name> <unix time>`` from the logs. The driver of
a fleet logs these lines itself.
"""

from __future__ import annotations

import sys
import time
from typing import Any

FRAMES = 400
COLLECTORS = 2


def say(milestone: str) -> None:
    """Print the line about a milestone that was reached now."""
    print(f"milestone {milestone} {time.time():.3f}", flush=True)


def make_env() -> Any:
    from torchrl.envs import GymEnv

    return GymEnv("CartPole-v1", categorical_action_encoding=True)


def make_policy() -> Any:
    from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential, TensorDictModule
    from torch import nn
    from torch.distributions import Categorical

    net = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    return ProbabilisticTensorDictSequential(
        TensorDictModule(net, in_keys=["observation"], out_keys=["logits"]),
        ProbabilisticTensorDictModule(in_keys=["logits"], out_keys=["action"], distribution_class=Categorical),
    )


def train(collector: Any, run: Any) -> None:
    """Take one batch. A fleet's driver calls this function."""
    for _ in collector:
        return


def by_hand() -> None:
    """Take one batch with RayCollector, and print the milestones."""
    say("python")
    import ray

    ray.init(address="auto", log_to_driver=False)
    say("ray")
    from torchrl.collectors.distributed import RayCollector

    say("imports")
    collector = RayCollector(
        [make_env] * COLLECTORS,
        make_policy(),
        frames_per_batch=FRAMES,
        total_frames=FRAMES * 10,
        sync=True,
        remote_configs={"num_cpus": 1, "num_gpus": 0},
    )
    say("constructed")
    for _ in collector:
        say("first_batch")
        break
    # The benchmark deletes the pods, so nothing is shut down here.
    sys.stdout.flush()


if __name__ == "__main__":
    by_hand()
