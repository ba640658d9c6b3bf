"""Environments of tensors on a GPU: frames are TorchRL's, recorded or not, and no step waits for the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch
from benchmarks.simulator.cart_pole import CartPoles
from benchmarks.simulator.sides import policy
from tensordict.nn import TensorDictModule
from tests import tensor_envs
from tests.gpu.on_a_gpu import DEVICE, Constant
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.cases import bounded_policy
from tests.unit.collectorfleet.actor.rollout.sides import Asked, Side, assert_equal, sides
from torchrl.envs import Compose, EnvBase, RewardSum, SerialEnv, StepCounter, TransformedEnv
from torchrl.envs.utils import set_exploration_type

from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.rollout.collector import FastCollector
from collectorfleet.actor.rollout.device_loop import DeviceLoop

ON_THE_GPU = {"device": DEVICE}
RECORDED = {**ON_THE_GPU, "cudagraph_policy": True}


def acting(*, draws: bool) -> Any:
    return bounded_policy(draws=draws).to(DEVICE)


def counted() -> EnvBase:
    return TransformedEnv(tensor_envs.MaskedWalks(5, device=DEVICE), Compose(StepCounter(7), RewardSum()))


MAKES: dict[str, Callable[[], EnvBase]] = {
    "reset by the host": partial(tensor_envs.Walks, 64, device=DEVICE),
    "reset by the mask": partial(tensor_envs.MaskedWalks, 64, device=DEVICE),
    "resets itself": partial(tensor_envs.SelfResettingWalks, 64, device=DEVICE),
    "transformed": counted,
}
ASKED = (Asked(10), Asked(6, cut_after=3), Asked(5, random=True), Asked(10))


@contextmanager
def without_waiting() -> Iterator[None]:
    """Whatever waits for the GPU between the first step of a rollout and its end is an error."""
    end = DeviceLoop._end

    def reported(self: DeviceLoop, *given: Any) -> None:
        torch.cuda.set_sync_debug_mode("default")
        end(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeviceLoop, "_end", reported)
        torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
@pytest.mark.parametrize("name", list(MAKES))
def test_frames_are_torchrls_entry_by_entry(name: str, draws: bool) -> None:
    theirs, ours = sides(MAKES[name], partial(acting, draws=draws), 640, **ON_THE_GPU)
    assert ours.runner.loop.startswith(f"Fast, with tensors on {DEVICE}")
    for asked in ASKED:
        assert_equal(theirs.run(asked), ours.run(asked))
        assert theirs.random_state == ours.random_state


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
@pytest.mark.parametrize("kind", [tensor_envs.MaskedWalks, tensor_envs.EagerWalks], ids=["all", "policy"])
def test_recorded_frames_are_torchrls_entry_by_entry(kind: Any, draws: bool) -> None:
    make = partial(kind, 64, device=DEVICE)
    theirs, _ = sides(make, partial(acting, draws=draws), 640, **ON_THE_GPU)
    _, ours = sides(make, partial(acting, draws=draws), 640, **RECORDED)
    assert "as a CUDA graph" in ours.runner.loop
    for asked in ASKED:
        assert_equal(theirs.run(asked), ours.run(asked))
        assert theirs.random_state == ours.random_state


@pytest.mark.parametrize("options", [ON_THE_GPU, RECORDED], ids=["launched", "recorded"])
@pytest.mark.parametrize("name", ["reset by the mask", "resets itself", "transformed"])
def test_no_step_waits_for_the_gpu(name: str, options: dict[str, Any]) -> None:
    _, ours = sides(MAKES[name], partial(acting, draws=True), 640, **options)
    ours.run(Asked(10))  # compares, records, and fills caches
    collector = ours.runner.collector
    with torch.no_grad(), set_exploration_type(collector.exploration_type), without_waiting():
        for _ in range(3):
            collector._found.loop.run(collector, collector._final_rollout, 10, random=False)
            torch.cuda.set_sync_debug_mode("error")


def test_a_discrete_policy_draws_what_torchrls_draws_without_waiting() -> None:
    def seeded() -> Any:
        torch.manual_seed(7)
        return policy().to(DEVICE)

    # From the second step on our resets draw too, and TorchRL's loop does not reset.
    theirs, ours = sides(partial(CartPoles, 256, DEVICE), seeded, 256 * 4, **ON_THE_GPU)
    first, second = theirs.run(Asked(1)).batch, ours.run(Asked(1)).batch
    assert first is not None
    assert second is not None
    assert torch.equal(first["action"], second["action"])
    assert torch.equal(first["action_log_prob"], second["action_log_prob"])
    ours.run(Asked(4))
    collector = ours.runner.collector
    with torch.no_grad(), set_exploration_type(collector.exploration_type), without_waiting():
        collector._found.loop.run(collector, collector._final_rollout, 4, random=False)


@pytest.mark.parametrize("options", [ON_THE_GPU, RECORDED], ids=["launched", "recorded"])
def test_each_version_of_the_weights_acts_from_its_step_on(options: dict[str, Any]) -> None:
    def constant() -> TensorDictModule:
        return TensorDictModule(Doubled(), ["observation"], ["action"]).to(DEVICE)

    config = CollectorConfig(
        partial(tensor_envs.MaskedWalks, 8, device=DEVICE),
        None,
        80,
        policy_factory=constant,
        update_between_steps=True,
        options=options,
    )
    side = Side(config, RolloutLoop.FAST, 0)
    weight = side.runner.collector.policy.module.weight
    versions = iter(range(1, 100))

    def publish() -> None:
        with torch.no_grad():
            weight.fill_(float(next(versions)) / 64)

    side.runner.collector.call_before_policy(publish)
    for first in (1, 11, 21):
        batch = side.run(Asked(10)).batch
        assert batch is not None
        wanted = torch.arange(first, first + 10, device=DEVICE) / 64
        assert torch.equal(batch["action"], wanted.view(1, 10, 1).expand(8, 10, 2))


class Doubled(Constant):
    """Both actions are the one parameter."""

    def forward(self, observation: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return self.weight.expand(*observation.shape[:-1], 2)


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
def test_a_recorded_policy_acts_in_environments_on_the_cpu(draws: bool) -> None:
    options = {"policy_device": DEVICE, "env_device": "cpu", "storing_device": "cpu"}
    make = partial(SerialEnv, 3, make_chance)
    _, plain = sides(make, partial(acting, draws=draws), 30, **options)
    _, ours = sides(make, partial(acting, draws=draws), 30, cudagraph_policy=True, **options)
    assert isinstance(ours.runner.collector, FastCollector)
    assert ours.runner.loop == "Fast"
    assert ours.runner.collector._found.loop.policy.is_recorded
    for asked in ASKED:
        assert_equal(plain.run(asked), ours.run(asked))
        assert plain.random_state == ours.random_state


def test_frames_that_are_stored_on_the_cpu_are_those_of_the_gpu() -> None:
    make = MAKES["reset by the mask"]
    _, there = sides(make, partial(acting, draws=True), 640, **RECORDED)
    _, here = sides(make, partial(acting, draws=True), 640, **RECORDED, storing_device="cpu")
    for asked in ASKED:
        wanted, found = there.run(asked).batch, here.run(asked).batch
        assert wanted is not None
        assert found is not None
        assert all(found.get(key).device.type == "cpu" for key in found.keys(True, True))
        for key in wanted.keys(True, True):
            assert torch.equal(wanted.get(key).cpu(), found.get(key)), key
