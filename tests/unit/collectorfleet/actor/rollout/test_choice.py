"""Which loop steps, and what is outputs where it is TorchRL's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest
import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule, TensorDictModuleBase, TensorDictSequential
from tests import envs
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.cases import linear_policy, several_kinds
from torchrl.envs import DoubleToFloat, EnvBase, SerialEnv, StepCounter, TransformedEnv, VecNormV2
from torchrl.modules import OrnsteinUhlenbeckProcessModule

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.rollout import collector
from collectorfleet.actor.rollout.exact import FastLoopUnsupported
from collectorfleet.actor.server import CollectorServer
from collectorfleet.messages import CollectorId, Raised, Request, Started

C0 = CollectorId("c0", 1)


def exploring() -> TensorDictSequential:
    return TensorDictSequential(
        linear_policy(), OrnsteinUhlenbeckProcessModule(make_chance().full_action_spec["action"])
    )


class Whole(TensorDictModuleBase):
    """A policy that takes all there is."""

    in_keys: ClassVar[list[str]] = ["observation"]
    out_keys: ClassVar[list[str]] = ["action"]

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", torch.zeros(*tensordict.batch_size, 2))


def hooked() -> TensorDictModule:
    policy = linear_policy()
    policy.register_forward_hook(lambda *_: None)
    return policy


def with_vec_norm() -> EnvBase:
    return TransformedEnv(make_chance(), VecNormV2(in_keys=["observation"]))


def several_with_vec_norm() -> EnvBase:
    return SerialEnv(2, with_vec_norm)


def without_done() -> EnvBase:
    return TransformedEnv(make_chance(), StepCounter(3, update_done=False))


def with_another_observation() -> EnvBase:
    return TransformedEnv(make_chance(dtype="float64"), DoubleToFloat(in_keys=["observation"], out_keys=["seen"]))


def config(env: Callable[[], EnvBase], policy: Callable[[], Any] | None = None, **options: Any) -> CollectorConfig:
    return CollectorConfig(env, None, 12, policy_factory=policy, options=options)


@pytest.mark.parametrize(
    ("env", "why"),
    [
        pytest.param(envs.make_counting, "Counting is not a Gymnasium environment", id="another environment"),
        pytest.param(several_kinds, "SerialEnv has environments of several kinds", id="several kinds"),
        pytest.param(several_with_vec_norm, "VecNormV2 has a separate state", id="statistics of several"),
        pytest.param(
            with_vec_norm, "the transform VecNormV2 cannot be applied to all environments at once", id="statistics"
        ),
        pytest.param(
            without_done, "StepCounter truncates episodes without setting 'done' (update_done=False)", id="not done"
        ),
        pytest.param(with_another_observation, "DoubleToFloat has other keys than observation", id="two observations"),
    ],
)
def test_an_environment_that_is_not_understood_steps_itself_and_the_reason_is_said(
    env: Callable[[], EnvBase], why: str
) -> None:
    assert build(config(env), 0).loop == f"Fast, by the environment's own step: {why}"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        pytest.param(
            config(make_chance, exploring),
            "OrnsteinUhlenbeckProcessModule in the policy may read and write any entry",
            id="noise of its own",
            marks=pytest.mark.filterwarnings("ignore:.*missing the 'is_init' entry"),
        ),
        pytest.param(config(make_chance, Whole), "Whole in the policy may read and write any entry", id="any policy"),
        pytest.param(config(make_chance, hooked), "a module of the policy has hooks", id="hooks"),
        pytest.param(
            config(make_chance, linear_policy, track_traj_ids=False), "trajectories have no ids", id="no trajectory ids"
        ),
        pytest.param(
            config(make_chance, linear_policy, use_buffers=False),
            "the collector has no preallocated batch",
            id="no memory",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is missing transforms")
def test_what_is_not_understood_is_torchrls_to_step_and_the_reason_is_said(asked: CollectorConfig, why: str) -> None:
    assert build(asked, 0).loop == f"TorchRL: {why}"
    assert build(replace(asked, rollout=RolloutLoop.TORCHRL), 0).loop == "TorchRL"
    with pytest.raises(FastLoopUnsupported) as refused:
        build(replace(asked, rollout=RolloutLoop.FAST), 0)
    assert str(refused.value).startswith(f"{why}; ")


def test_a_collector_says_which_loop_it_has() -> None:
    started = CollectorServer(C0, config(make_chance, linear_policy)).build(0, seed_environment=True)
    assert isinstance(started, Started)
    assert started.loop == "Fast"


def test_a_fast_rollout_that_is_not_exact_is_refused_as_what_it_is() -> None:
    asked = replace(config(make_chance, Whole), rollout=RolloutLoop.FAST)
    refused = CollectorServer(C0, asked).build(0, seed_environment=True)
    assert isinstance(refused, Raised)
    assert (refused.where, refused.by_environment) == ("rollout", False)
    assert "Whole in the policy may read and write any entry; set collection.rollout to Auto" in refused.cause


def test_what_cannot_even_be_looked_at_is_torchrls_to_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any) -> None:
        raise AttributeError("no such attribute")

    monkeypatch.setattr(collector, "find_loop", fails)
    runner = build(config(make_chance), 0)
    assert runner.loop == (
        "TorchRL: inspecting the environment and the policy raised AttributeError: no such attribute"
    )
    rollout = runner.run(Request(1, 12, 0))
    assert rollout.frames == 12
