"""What changes after the loop was chosen: frames stay TorchRL's, by whichever loop then steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensordict.nn import TensorDictModule, TensorDictSequential
from tests.example_count import examples
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.cases import GYMNASIUM, Make
from tests.unit.collectorfleet.actor.rollout.sides import Asked, compare, sides
from torch import nn
from torchrl.envs import (
    EnvBase,
    GymWrapper,
    ObservationNorm,
    RewardScaling,
    SerialEnv,
    StepCounter,
    TransformedEnv,
)
from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.actor.rollout import collector


def drawing(inputs: int) -> Any:
    torch.manual_seed(7)
    layers = nn.Sequential(nn.Linear(inputs, 4), NormalParamExtractor())
    computing = TensorDictModule(layers, ["observation"], ["loc", "scale"])
    return ProbabilisticActor(
        computing, ["loc", "scale"], distribution_class=TanhNormal, distribution_kwargs={"low": -0.5, "high": 0.5}
    )


def chain(env: EnvBase) -> list[EnvBase]:
    found = [env]
    while isinstance(found[-1], TransformedEnv):
        found.append(found[-1].base_env)
    last = found[-1]
    return found + ([one for inner in last._envs for one in chain(inner)] if isinstance(last, SerialEnv) else [])


class Loud(gymnasium.Wrapper[Any, Any, Any, Any]):
    def step(self, action: Any) -> Any:
        seen, reward, *others = self.env.step(action)
        return (seen + 1, reward, *others)


def set_on_transforms(kind: type, name: str, value: Any, env: EnvBase) -> None:
    for one in chain(env):
        for transform in [*one.transform] if isinstance(one, TransformedEnv) else []:
            if isinstance(transform, kind):
                getattr(transform, "fill", setattr)(transform, name, value)
                return


def wrap(env: EnvBase) -> None:
    wrapper = next(one for one in chain(env) if isinstance(one, GymWrapper))
    wrapper._env = Loud(wrapper._env)


def assign_step(env: EnvBase) -> None:
    inner = next(one for one in chain(env) if isinstance(one, GymWrapper))._env
    step = inner.step
    inner.step = lambda action: (step(action)[0] * 0, *step(action)[1:])


def assign_on_the_wrapper(env: EnvBase) -> None:
    wrapper = next(one for one in chain(env) if isinstance(one, GymWrapper))
    read = wrapper.read_reward
    wrapper.read_reward = lambda reward: read(reward) + 1


def skip(env: EnvBase) -> None:
    next(one for one in chain(env) if isinstance(one, GymWrapper)).wrapper_frame_skip = 2


def shift_in_place(shift: Callable[[torch.Tensor], Any], env: EnvBase) -> None:
    for one in chain(env)[::-1]:
        for transform in [*one.transform] if isinstance(one, TransformedEnv) else []:
            if isinstance(transform, ObservationNorm):
                shift(transform.loc)
                return


def append(transform: Callable[[], Any], env: EnvBase) -> None:
    if isinstance(env, TransformedEnv):
        env.append_transform(transform())


def insert(env: EnvBase) -> None:
    if isinstance(env, TransformedEnv):
        env.insert_transform(0, RewardScaling(loc=0.0, scale=10.0))


OF_ENVIRONMENTS: dict[str, Callable[[EnvBase], None]] = {
    "nothing": lambda _: None,
    "a transform is appended": partial(append, partial(RewardScaling, loc=0.0, scale=10.0)),
    "a transform is inserted": insert,
    "a limit is set": partial(set_on_transforms, StepCounter, "max_steps", 2),
    "a normalization is replaced": partial(set_on_transforms, ObservationNorm, "loc", torch.full((), 5.0)),
    "a normalization is written into": partial(shift_in_place, lambda loc: loc.add_(3)),
    "a normalization is written into unseen": partial(shift_in_place, lambda loc: loc.data.add_(3)),
    "a wrapper is put around": wrap,
    "the environment's step is assigned": assign_step,
    "a method of TorchRL's wrapper is assigned": assign_on_the_wrapper,
    "actions are repeated": skip,
}


def replace_network(policy: Any) -> None:
    torch.manual_seed(8)
    module = next(one for one in policy.modules() if type(one) is TensorDictModule)
    last = module.module if isinstance(module.module, nn.Linear) else nn.Sequential(*module.module)
    module.module = nn.Sequential(last, nn.Identity()) if isinstance(last, nn.Linear) else last
    inputs = next(one for one in module.modules() if isinstance(one, nn.Linear)).in_features
    module.module = nn.Sequential(nn.Linear(inputs, 4), NormalParamExtractor())


def widen(policy: Any) -> None:
    for one in policy.modules():
        if hasattr(one, "distribution_kwargs"):
            one.distribution_kwargs["high"] = 0.9


def hook(policy: Any) -> None:
    module = next(one for one in policy.modules() if type(one) is TensorDictModule)
    module.register_forward_pre_hook(lambda _, __: None)


OF_POLICIES: dict[str, Callable[[Any], None]] = {
    "nothing": lambda _: None,
    "the network is replaced": replace_network,
    "the bounds of the distribution change": widen,
    "a hook comes": hook,
    "another mode": lambda policy: policy.eval(),
}


@pytest.mark.filterwarnings("ignore:.*has been wrapped")
@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from([name for name in GYMNASIUM if name not in ("stacked", "grids")]),
    of_environment=st.sampled_from(list(OF_ENVIRONMENTS)),
    of_policy=st.sampled_from(list(OF_POLICIES)),
    before=st.lists(st.builds(Asked, st.integers(1, 9)), max_size=2),
)
def test_a_change_between_two_rollouts_is_followed(
    name: str, of_environment: str, of_policy: str, before: list[Asked]
) -> None:
    make, inputs = GYMNASIUM[name]
    theirs, ours = sides(make, partial(drawing, inputs), 24, loop=RolloutLoop.AUTO)
    compare(theirs, ours, before)
    for side in (theirs, ours):
        side.do(lambda runner: OF_ENVIRONMENTS[of_environment](runner.collector.env))
        side.do(lambda runner: OF_POLICIES[of_policy](runner.collector.policy))
    compare(theirs, ours, [Asked(12), Asked(7)])


def in_a_row() -> TensorDictSequential:
    torch.manual_seed(7)
    first = TensorDictModule(nn.Sequential(nn.Linear(3, 4), nn.Tanh()), ["observation"], ["hidden"])
    return TensorDictSequential(first, TensorDictModule(nn.Linear(4, 2), ["hidden"], ["action"]))


def replace_first(policy: TensorDictSequential) -> None:
    torch.manual_seed(8)
    policy.module[0] = TensorDictModule(nn.Linear(3, 4), ["observation"], ["hidden"])


def assign_forward(policy: TensorDictSequential) -> None:
    network = policy.module[0].module
    network.forward = lambda seen: network[0](seen) + 1


@pytest.mark.parametrize("change", [replace_first, assign_forward])
@pytest.mark.parametrize("rollouts", [0, 1])
def test_a_change_within_the_policy_is_followed(change: Callable[[Any], None], rollouts: int) -> None:
    theirs, ours = sides(partial(SerialEnv, 2, make_chance), in_a_row, 24, loop=RolloutLoop.AUTO)
    compare(theirs, ours, [Asked(6)] * rollouts)
    for side in (theirs, ours):
        side.do(lambda runner: change(runner.collector.policy))
    compare(theirs, ours, [Asked(6)])


def test_what_a_hook_changes_before_a_rollout_is_in_that_rollout() -> None:
    theirs, ours = sides(*counted_by_nine(), 24, loop=RolloutLoop.AUTO)
    compare(theirs, ours, [Asked(12)])
    for side in (theirs, ours):
        stepping = side.runner.collector
        stepping.pre_collect_hook = partial(set_on_transforms, StepCounter, "max_steps", 2, stepping.env)
    compare(theirs, ours, [Asked(12), Asked(12)])
    assert ours.runner.collector.pre_collect_hook is not None


def test_a_change_that_is_taken_back_leads_to_no_faster_loop() -> None:
    _, ours = sides(*counted_by_nine(), 24, loop=RolloutLoop.AUTO)
    ours.run(Asked(5))
    stepping = ours.runner.collector
    assert stepping.steps_by == "Fast"
    module = next(one for one in stepping.policy.modules() if type(one) is TensorDictModule)
    taken_back = module.register_forward_pre_hook(lambda _, __: None)
    ours.run(Asked(5))
    assert stepping.steps_by.startswith("TorchRL: ")
    taken_back.remove()
    ours.run(Asked(5))
    assert stepping.steps_by.startswith("TorchRL: ")


def counted_by_nine() -> tuple[Make, Callable[[], Any]]:
    return GYMNASIUM["counted"][0], partial(drawing, 3)


def test_attributes_that_nothing_reads_lead_to_no_new_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[None] = []
    find = collector.find_loop
    monkeypatch.setattr(collector, "find_loop", lambda of: (chosen.append(None), find(of))[1])
    _, ours = sides(*counted_by_nine(), 24)
    for epoch in range(4):
        ours.do(partial(setattr_of_policy, epoch))
        ours.run(Asked(5))
    assert len(chosen) == 1


def setattr_of_policy(epoch: int, runner: Any) -> None:
    runner.collector.policy.epoch = epoch
