"""What changes after the loop was chosen: frames stay TorchRL's, by whichever loop then steps."""

from __future__ import annotations

from collections import deque
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
from tests.gym_envs import Chance, make_chance
from tests.unit.collectorfleet.actor.rollout.sides import Asked, Side, assert_equal, sides
from torch import nn
from torchrl.envs import (
    CatFrames,
    Compose,
    EnvBase,
    FrameSkipTransform,
    GymWrapper,
    InitTracker,
    ObservationNorm,
    RewardScaling,
    RewardSum,
    SerialEnv,
    StepCounter,
    TransformedEnv,
    VecNormV2,
)
from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.actor.rollout import collector
from collectorfleet.actor.rollout.exact import NotExact
from collectorfleet.actor.rollout.stage import Stage

Make = Callable[[], EnvBase]
# 2,000 with --hypothesis-profile=thorough.
EXAMPLES = examples(10)


def transformed(make: Make, *transforms: Callable[[], Any]) -> EnvBase:
    return TransformedEnv(make(), Compose(*[transform() for transform in transforms]))


GRID = (2, 5)
STACK = partial(CatFrames, 2, dim=-1, in_keys=["observation"])
NORM = partial(ObservationNorm, 1.0, 2.0, in_keys=["observation"])
COUNT = partial(StepCounter, 9)
MAKES: dict[str, tuple[Make, int]] = {
    "alone": (make_chance, 3),
    "several": (partial(SerialEnv, 3, make_chance), 3),
    "counted": (partial(transformed, make_chance, COUNT, RewardSum, InitTracker), 3),
    "several, counted": (partial(transformed, partial(SerialEnv, 2, make_chance), COUNT, RewardSum), 3),
    "normalized": (partial(transformed, make_chance, NORM), 3),
    "several, each normalized": (partial(SerialEnv, 2, partial(transformed, make_chance, NORM)), 3),
    "stacked": (partial(transformed, make_chance, STACK), 6),
    "with skipped frames": (partial(transformed, make_chance, partial(FrameSkipTransform, 2)), 3),
    "grids": (partial(SerialEnv, 2, partial(make_chance, shape=GRID)), 10),
    "with statistics": (partial(transformed, make_chance, partial(VecNormV2, in_keys=["observation"])), 3),
}


def flat(seen: torch.Tensor) -> torch.Tensor:
    return seen.flatten(-2) if seen.shape[-2:] == GRID else seen


class Acts(nn.Module):
    """Acts on what it sees, after ``habit`` has had it, from its step ``begins`` on; two numbers are the action."""

    def __init__(self, habit: Callable[[Acts, torch.Tensor], torch.Tensor], begins: int, inputs: int) -> None:
        super().__init__()
        self.net = nn.Linear(inputs, 2)
        self.seen: deque[Any] = deque(maxlen=70)
        self._habit = habit
        self._left = begins

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        self._left -= 1
        seen = observation if self._left >= 0 else self._habit(self, observation)
        return seen if seen.shape[-1] == 2 else self.net(flat(seen))


def keeps(as_kept: Callable[[torch.Tensor], Any], policy: Acts, observation: torch.Tensor) -> torch.Tensor:
    policy.seen.append(as_kept(observation))
    return torch.as_tensor(policy.seen[0])


def unseen(observation: torch.Tensor) -> torch.Tensor:
    observation.numpy()[...] *= 0.5
    return observation


WRITES: dict[str, Callable[[Acts, torch.Tensor], torch.Tensor]] = {
    "writes": lambda _, seen: seen.mul_(0.5),
    "writes into a part": lambda _, seen: seen.narrow(-1, 0, 1).add_(1).expand_as(seen) + seen,
}
WRITES_UNSEEN: dict[str, Callable[[Acts, torch.Tensor], torch.Tensor]] = {
    "writes by data": lambda _, seen: seen.data.mul_(0.5),
    "writes as an array": lambda _, seen: unseen(seen),
}
KEEPS: dict[str, Callable[[Acts, torch.Tensor], torch.Tensor]] = {
    "keeps": partial(keeps, lambda seen: seen),
    "keeps a view": partial(keeps, lambda seen: seen[..., :]),
    "keeps an array": partial(keeps, lambda seen: seen.numpy()),
    "keeps the data": partial(keeps, lambda seen: seen.data.view(seen.shape)),
    "returns a part of what it saw": lambda _, seen: flat(seen)[..., :2],
    "returns a part of its weights": lambda policy, seen: policy.net.bias.expand(*flat(seen).shape[:-1], 2),
}


def policy(habit: Callable[[Acts, torch.Tensor], torch.Tensor], begins: int, inputs: int) -> TensorDictModule:
    torch.manual_seed(7)
    return TensorDictModule(Acts(habit, begins, inputs), ["observation"], ["action"])


REQUESTS = st.builds(Asked, st.integers(1, 80), st.booleans(), st.none() | st.integers(1, 6))


def compare(theirs: Side, ours: Side, requests: list[Asked]) -> None:
    for asked in requests:
        assert_equal(theirs.run(asked), ours.run(asked))
        assert theirs.random_state == ours.random_state


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(list(MAKES)),
    habit=st.sampled_from(list(KEEPS)),
    begins=st.integers(0, 70),
    requests=st.lists(REQUESTS, min_size=1, max_size=4),
)
def test_a_policy_may_keep_what_it_saw(name: str, habit: str, begins: int, requests: list[Asked]) -> None:
    make, inputs = MAKES[name]
    compare(*sides(make, partial(policy, KEEPS[habit], begins, inputs), 24), requests)


def test_large_observations_that_a_policy_keeps_are_not_written_over() -> None:
    def acts() -> TensorDictModule:
        return policy(KEEPS["keeps"], 0, 10_000)

    compare(*sides(partial(make_chance, shape=(10_000,)), acts, 24), [Asked(40), Asked(100)])


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(list(MAKES)),
    habit=st.sampled_from([*WRITES, *WRITES_UNSEEN]),
    begins=st.integers(0, 70),
    requests=st.lists(REQUESTS, min_size=1, max_size=4),
)
def test_torchrls_loop_takes_over_from_a_policy_that_writes_into_its_observation(
    name: str, habit: str, begins: int, requests: list[Asked]
) -> None:
    make, inputs = MAKES[name]
    begins = begins if habit in WRITES else 0  # torch does not count the others, which are seen in the first step only
    acts = partial(policy, {**WRITES, **WRITES_UNSEEN}[habit], begins, inputs)
    theirs, ours = sides(make, acts, 24, loop=RolloutLoop.AUTO)
    fast = ours.runner.loop == "Fast"
    steps = 0
    for asked in requests:
        left = theirs.run(asked)
        try:
            right = ours.run(asked)
        except NotExact:  # what TorchRL shows cannot be told any more
            assert begins > 0
            return
        assert_equal(left, right)
        assert theirs.random_state == ours.random_state
        steps += 0 if asked.random else min(asked.steps, asked.cut_after or asked.steps)
    wrote = "TorchRL: the policy writes into its observation"
    assert ours.runner.loop == (wrote if steps > begins and fast else ours.runner.loop)


class Shrinks(Chance):
    """Observes one number instead of three, from a step on or after a reset."""

    def __init__(self, at: str) -> None:
        super().__init__(ends=0.5)
        self._at = at

    def reset(self, **options: Any) -> Any:
        seen, info = super().reset(**options)
        return (seen[:1] if self._at == "reset" and self._steps else seen), info

    def step(self, action: Any) -> Any:
        seen, *others = super().step(action)
        return (seen[:1] if self._at == "step" and self._steps > 3 else seen, *others)


@pytest.mark.parametrize("at", ["step", "reset"])
def test_an_observation_of_another_shape_is_not_repeated_in_silence(at: str) -> None:
    _, ours = sides(lambda: GymWrapper(Shrinks(at)), partial(policy, WRITES["writes"], 99, 3), 24)
    with pytest.raises(ValueError, match=r"^observation has shape \[1\]; its observation space has \[3\]"):
        ours.run(Asked(20))


def test_an_action_of_another_shape_is_not_repeated_in_silence() -> None:
    def shrinks(_: Acts, seen: torch.Tensor) -> torch.Tensor:
        acts.net = nn.Linear(3, 1)
        return seen

    acts = Acts(shrinks, 4, 3)
    _, ours = sides(make_chance, lambda: TensorDictModule(acts, ["observation"], ["action"]), 24)
    with pytest.raises(ValueError, match=r"^the policy's action is torch.float32 \[1\] and was torch.float32 \[2\]"):
        ours.run(Asked(20))


def test_a_fast_rollout_of_a_policy_that_writes_into_its_observation_is_refused() -> None:
    _, ours = sides(make_chance, partial(policy, WRITES["writes"], 0, 3), 24)
    with pytest.raises(NotExact, match="the policy writes into its observation; clone it there, or set"):
        ours.run(Asked(8))


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
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from([name for name in MAKES if name not in ("stacked", "grids")]),
    of_environment=st.sampled_from(list(OF_ENVIRONMENTS)),
    of_policy=st.sampled_from(list(OF_POLICIES)),
    before=st.lists(st.builds(Asked, st.integers(1, 9)), max_size=2),
)
def test_a_change_between_two_rollouts_is_followed(
    name: str, of_environment: str, of_policy: str, before: list[Asked]
) -> None:
    make, inputs = MAKES[name]
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


def counted_by_nine() -> tuple[Make, Callable[[], Any]]:
    return MAKES["counted"][0], partial(drawing, 3)


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


def test_a_policy_that_keeps_one_observation_gets_the_same_memory_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def keeps_last(policy: Acts, seen: torch.Tensor) -> torch.Tensor:
        policy.seen.append(seen)
        while len(policy.seen) > 1:
            policy.seen.popleft()
        return seen

    made: list[None] = []
    make = Stage._make_frames
    monkeypatch.setattr(Stage, "_make_frames", lambda stage: (made.append(None), make(stage))[1])
    _, ours = sides(make_chance, partial(policy, keeps_last, 0, 3), 24)
    for _ in range(3):
        ours.run(Asked(200))
    assert len(made) <= 3
