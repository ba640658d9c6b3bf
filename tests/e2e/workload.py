"""Code of the users in the end-to-end tests; mounted into the fleet's pods from a ConfigMap."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import ray
import torch
from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential, TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.envs import GymEnv

# Seconds of a training step: a fleet that is there leaves the machine to one that starts.
PACE = 0.2


def make_env() -> Any:
    return GymEnv("CartPole-v1", categorical_action_encoding=True)


class SlowEnv(GymEnv):
    """A rollout of 100 frames takes two seconds."""

    def _step(self, tensordict: Any) -> Any:
        time.sleep(0.02)
        return super()._step(tensordict)


def slow_env() -> Any:
    return SlowEnv("CartPole-v1", categorical_action_encoding=True)


def talking_env() -> Any:
    print("the game begins", flush=True)
    return make_env()


def broken_env() -> Any:
    raise ValueError("no such game: Pong on the moon")


def make_policy() -> Any:
    net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    return ProbabilisticTensorDictSequential(
        TensorDictModule(net, in_keys=["observation"], out_keys=["logits"]),
        ProbabilisticTensorDictModule(in_keys=["logits"], out_keys=["action"], distribution_class=Categorical),
    )


def train(collector: Any, run: Any, batches: int | None = None) -> None:
    """Change the weights after every batch, as training would, for ``batches`` batches or for ever."""
    for number, _batch in enumerate(collector, start=1):
        with torch.no_grad():
            for parameter in collector.policy.parameters():
                parameter.add_(0.001 * torch.randn_like(parameter))
        run.report(batch=number)
        if number == batches:
            return
        time.sleep(PACE)  # a trainer works too


def curriculum(result: Any, parameters: dict[str, float]) -> dict[str, float]:
    """After the n-th evaluation gravity is 10 + n."""
    return {"gravity": parameters.get("gravity", 10.0) + 1}


def train_with_parameters(collector: Any, run: Any) -> None:
    """As :func:`train`; frames of a collector that is there may not go back to older parameters."""
    for batch in collector:
        versions = batch["collector", "environment_parameters_version"]
        rows = [row.flatten() for row in versions]
        assert all((row.diff() >= 0).all() for row in rows), rows
        run.report(newest_parameters=versions.max(), oldest_parameters=versions.min())
        time.sleep(PACE)
        collector.update_policy_weights_()


def train_fails(collector: Any, run: Any) -> None:
    for number, _batch in enumerate(collector, start=1):
        if number == 3:
            raise RuntimeError("loss is NaN at batch 3")


def make_buffer(size: int) -> Any:
    # In the driver's pod, and without a CPU: those of the worker pods are the collectors'.
    here = {f"node:{ray.util.get_node_ip_address()}": 0.001}
    return ReplayBuffer(
        storage=partial(LazyTensorStorage, size),
        batch_size=64,
        service_backend="ray",
        service_backend_options={"remote_config": {"num_cpus": 0, "resources": here}},
    )


def train_from_buffer(collector: Any, run: Any, frames: int) -> None:
    """Train until there are so many frames, and some of each collector: one may have a place long after the other."""
    for batch in collector:
        assert batch is None, "collectors write into the buffer themselves"
        sample = collector.replay_buffer.sample()
        with torch.no_grad():
            for parameter in collector.policy.parameters():
                parameter.add_(0.001 * torch.randn_like(parameter))
        if len(collector.replay_buffer) >= frames and all(row.frames for row in collector.status().collectors):
            break
    run.report(
        written=len(collector.replay_buffer),
        sampled=sample.numel(),
        newest=sample["collector", "weights_version"].max(),
    )


class SlowAtTheEnd:
    """Takes so long to be written once the run is to end."""

    def __init__(self, run: Any, seconds: float) -> None:
        self._run, self._seconds = run, seconds

    def state_dict(self) -> dict[str, Any]:
        if self._run.stop_requested:
            time.sleep(self._seconds)
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class OnHead:
    """Part of the training state is in an actor on the Ray head."""

    def __init__(self) -> None:
        # The head gets a copy of a class that is defined in a function, and imports neither this module nor torch.
        class Held:
            def state(self) -> dict[str, int]:
                return {"held": 1}

        at_head = ray.remote(num_cpus=0, resources={"node:__internal_head__": 0.001})
        self._actor = at_head(Held).remote()

    def state_dict(self) -> dict[str, int]:
        state: dict[str, int] = ray.get(self._actor.state.remote(), timeout=60)
        return state

    def load_state_dict(self, state: dict[str, int]) -> None:
        assert state == {"held": 1}


def train_and_keep_on_head(collector: Any, run: Any, seconds: float) -> None:
    """As :func:`train_and_keep_slowly`. The last checkpoint needs the Ray head after these ``seconds``."""
    run.keep(slow=SlowAtTheEnd(run, seconds), head=OnHead())
    train_and_keep(collector, run)


def train_and_keep_slowly(collector: Any, run: Any, seconds: float) -> None:
    """The same, with a last checkpoint that takes ``seconds``."""
    run.keep(slow=SlowAtTheEnd(run, seconds))
    train_and_keep(collector, run)


def train_and_keep(collector: Any, run: Any) -> None:
    """Change the weights after every batch and keep count, over drivers, and say what was in the replay buffer."""
    progress = {"batches": 0}
    resumed = run.keep(progress=progress)
    if (buffer := collector.replay_buffer) is not None:
        run.report(found=len(buffer))
    for _batch in collector:
        if buffer is not None:
            buffer.sample()
        with torch.no_grad():
            for parameter in collector.policy.parameters():
                parameter.add_(0.001 * torch.randn_like(parameter))
        progress["batches"] += 1
        run.report(kept=progress["batches"], resumed=int(resumed))
        time.sleep(PACE)
