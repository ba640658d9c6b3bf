"""A policy may keep its observations. TorchRL's loop takes over from a policy that writes into them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensordict.nn import TensorDictModule
from tests.example_count import examples
from tests.gym_envs import Chance, make_chance
from tests.unit.collectorfleet.actor.rollout.cases import GRID, GYMNASIUM
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, compare, sides
from torch import nn
from torchrl.envs import GymWrapper, SerialEnv

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.actor.origin import Origin, origin_of
from collectorfleet.actor.rollout.exact import FastLoopUnsupported
from collectorfleet.actor.rollout.stage import Stage

# 2,000 with --hypothesis-profile=thorough.
EXAMPLES = examples(10)


def flat(seen: torch.Tensor) -> torch.Tensor:
    return seen.flatten(-2) if seen.shape[-2:] == GRID else seen


class Acts(nn.Module):
    """Acts on what it sees, after ``habit`` has had it, from its step ``begins`` on; two numbers are the action."""

    def __init__(self, habit: Callable[[Acts, torch.Tensor], torch.Tensor], begins: int, inputs: int) -> None:
        super().__init__()
        self.net = nn.Linear(inputs, 2)
        self.seen: deque[Any] = deque(maxlen=70)
        self._habit = habit
        self.calls = 0
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


def writes_into_the_previous(policy: Acts, seen: torch.Tensor) -> torch.Tensor:
    if policy.seen:
        policy.seen[-1].mul_(0.5)
    policy.seen.append(seen)
    return seen


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


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(list(GYMNASIUM)),
    habit=st.sampled_from(list(KEEPS)),
    begins=st.integers(0, 70),
    requests=st.lists(REQUESTS, min_size=1, max_size=4),
)
def test_a_policy_may_keep_what_it_saw(name: str, habit: str, begins: int, requests: list[Asked]) -> None:
    make, inputs = GYMNASIUM[name]
    compare(*sides(make, partial(policy, KEEPS[habit], begins, inputs), 24), requests)


@pytest.mark.parametrize("size", [3, 10_000])
@pytest.mark.parametrize("habit", WRITES_UNSEEN)
def test_a_write_that_torch_does_not_count_is_found_in_later_steps(habit: str, size: int) -> None:
    def acts() -> TensorDictModule:
        return policy(WRITES_UNSEEN[habit], 30, size)

    compare(*sides(partial(make_chance, shape=(size,)), acts, 24, loop=RolloutLoop.AUTO), [Asked(150)])


def test_large_observations_that_a_policy_keeps_are_not_written_over() -> None:
    def acts() -> TensorDictModule:
        return policy(KEEPS["keeps"], 0, 10_000)

    compare(*sides(partial(make_chance, shape=(10_000,)), acts, 24), [Asked(40), Asked(100)])


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(list(GYMNASIUM)),
    habit=st.sampled_from([*WRITES, *WRITES_UNSEEN]),
    begins=st.integers(0, 70),
    requests=st.lists(REQUESTS, min_size=1, max_size=4),
)
def test_torchrls_loop_takes_over_from_a_policy_that_writes_into_its_observation(
    name: str, habit: str, begins: int, requests: list[Asked]
) -> None:
    make, inputs = GYMNASIUM[name]
    acts = partial(policy, {**WRITES, **WRITES_UNSEEN}[habit], begins, inputs)
    theirs, ours = sides(make, acts, 24, loop=RolloutLoop.AUTO)
    fast = ours.runner.loop == "Fast"
    steps = 0
    for asked in requests:
        left = theirs.run(asked)
        try:
            right = ours.run(asked)
        except FastLoopUnsupported:  # what TorchRL shows cannot be told any more
            assert begins > 0
            return
        assert_equal(left, right)
        assert theirs.random_state == ours.random_state
        steps += 0 if asked.random else min(asked.steps, asked.cut_after or asked.steps)
    wrote = "TorchRL: the policy writes into its observation"
    assert ours.runner.loop == (wrote if steps > begins and fast else ours.runner.loop)


@pytest.mark.parametrize("size", [3, 10_000])
@pytest.mark.parametrize("together", [1, 2])
def test_a_write_into_the_observation_of_an_earlier_step_is_refused(together: int, size: int) -> None:
    make = partial(SerialEnv, together, partial(make_chance, shape=(size,), ends=0.0))
    _, ours = sides(make, partial(policy, writes_into_the_previous, 5, size), 24, loop=RolloutLoop.AUTO)
    with pytest.raises(FastLoopUnsupported, match="writes into its observation of an earlier step; write to a clone"):
        ours.run(Asked(20))


def writes_once(at: int, ago: int, policy: Acts, seen: torch.Tensor) -> torch.Tensor:
    """Keep each observation. In call ``at``, write into the observation of ``ago`` calls ago, between two samples."""
    policy.calls += 1
    policy.seen.append(seen)
    if policy.calls == at:
        policy.seen[-1 - ago][..., 1:2].mul_(0.5)
    return seen


def writes_after_the_first_write(policy: Acts, seen: torch.Tensor) -> torch.Tensor:
    """Write into the observation of the tenth call, and five calls later into the observation of the eighth call."""
    writes_once(10, 0, policy, seen)
    return writes_once(16, 7, policy, seen) if policy.calls == 15 else seen


SINGLE_WRITES: dict[str, tuple[Callable[[Acts, torch.Tensor], torch.Tensor], int]] = {
    "into steps in the batch": (partial(writes_once, 67, 5), 3),
    "into steps of two stages ago": (partial(writes_once, 140, 69), 3),
    "into the first observation": (partial(writes_once, 3, 1), 3),
    "after the loop has changed": (writes_after_the_first_write, 3),
    "between the compared numbers": (partial(writes_once, 11, 1), 10_000),
    "into a large observation in the batch": (partial(writes_once, 11, 3), 10_000),
}


@pytest.mark.parametrize("case", SINGLE_WRITES)
def test_a_single_write_into_the_observation_of_an_earlier_step_is_refused(case: str) -> None:
    habit, size = SINGLE_WRITES[case]
    make = partial(make_chance, shape=(size,), ends=0.0)
    _, ours = sides(make, partial(policy, habit, 0, size), 24, loop=RolloutLoop.AUTO)
    with pytest.raises(FastLoopUnsupported, match="writes into its observation of an earlier step; write to a clone"):
        ours.run(Asked(150))


@pytest.mark.parametrize("size", [3, 10_000])
@pytest.mark.parametrize("steps", [20, 64, 150])
def test_torchrls_loop_takes_over_from_a_policy_that_writes_what_it_saw(steps: int, size: int) -> None:
    def acts() -> TensorDictModule:
        return policy(lambda _, seen: seen.mul_(1), 3, size)

    theirs, ours = sides(partial(make_chance, shape=(size,)), acts, 24, loop=RolloutLoop.AUTO)
    compare(theirs, ours, [Asked(steps), Asked(8)])
    assert ours.runner.loop == "TorchRL: the policy writes into its observation"


class Reads(nn.Module):
    """Acts on its observation, and writes into the entry ``done`` in its step ``begins``."""

    def __init__(self, begins: int) -> None:
        super().__init__()
        self._left = begins

    def forward(self, observation: torch.Tensor, done: torch.Tensor) -> torch.Tensor:
        self._left -= 1
        if self._left == 0:
            done.logical_not_()
            observation.mul_(0.5)
        return observation[..., :2]


def test_a_write_into_another_entry_is_refused_also_beside_a_write_into_the_observation() -> None:
    _, ours = sides(make_chance, lambda: TensorDictModule(Reads(7), ["observation", "done"], ["action"]), 24)
    with pytest.raises(FastLoopUnsupported, match="the policy writes into the counter done"):
        ours.run(Asked(20))


class Marks(Reads):
    """Writes True into the entry ``done`` in its step ``begins``, in a way that torch does not count."""

    def forward(self, observation: torch.Tensor, done: torch.Tensor) -> torch.Tensor:
        self._left -= 1
        if self._left == 0:
            done.numpy().fill(True)
        return observation[..., :2]


@pytest.mark.parametrize("begins", [7, 65, 100])
def test_a_write_into_done_that_torch_does_not_count_is_refused(begins: int) -> None:
    _, ours = sides(make_chance, lambda: TensorDictModule(Marks(begins), ["observation", "done"], ["action"]), 24)
    with pytest.raises(FastLoopUnsupported, match="the policy writes into the counter done"):
        ours.run(Asked(100))


class Shrinks(Chance):
    """Observes one number instead of three, from a step on or after a reset."""

    def __init__(self, at: str, shown: Callable[[np.ndarray], Any] = np.asarray) -> None:
        super().__init__(ends=0.5)
        self._at = at
        self._shown = shown

    def reset(self, **options: Any) -> Any:
        seen, info = super().reset(**options)
        return (self._shown(seen[:1]) if self._at == "reset" and self._steps else seen), info

    def step(self, action: Any) -> Any:
        seen, *others = super().step(action)
        return (self._shown(seen[:1]) if self._at == "step" and self._steps > 3 else seen, *others)


SHOWN: dict[str, tuple[Callable[[np.ndarray], Any], str]] = {
    "an array": (np.asarray, r"\[1\]"),
    "a list": (np.ndarray.tolist, r"\[1\]"),
    "a tensor": (torch.from_numpy, r"\[1\]"),
    "a masked array": (np.ma.array, r"\[1\]"),
    "a number": (np.ndarray.item, r"\[\]"),
}


@pytest.mark.parametrize("at", ["step", "reset"])
@pytest.mark.parametrize("shown", SHOWN)
def test_an_observation_of_another_shape_is_not_repeated_in_silence(at: str, shown: str) -> None:
    show, shape = SHOWN[shown]
    _, ours = sides(lambda: GymWrapper(Shrinks(at, show)), partial(policy, WRITES["writes"], 99, 3), 24)
    with pytest.raises(ValueError, match=rf"^observation has shape {shape}; its observation space has \[3\]"):
        ours.run(Asked(20))


def test_an_action_of_another_shape_is_not_repeated_in_silence() -> None:
    def shrinks(_: Acts, seen: torch.Tensor) -> torch.Tensor:
        acts.net = nn.Linear(3, 1)
        return seen

    acts = Acts(shrinks, 4, 3)
    _, ours = sides(make_chance, lambda: TensorDictModule(acts, ["observation"], ["action"]), 24)
    refusal = r"^the policy's action for the environment is torch.float32 \[1\], but was torch.float32 \[2\] when"
    with pytest.raises(ValueError, match=refusal) as raised:
        ours.run(Asked(20))
    assert origin_of(raised.value) is Origin.POLICY


@pytest.mark.parametrize("together", [0, 2])
def test_an_index_in_place_of_a_one_hot_action_is_torchrls_to_read(together: int) -> None:
    def index(_: Acts, seen: torch.Tensor) -> torch.Tensor:
        return torch.ones(2).expand(*seen.shape[:-1], 2)

    class Index(Acts):
        def forward(self, observation: torch.Tensor) -> torch.Tensor:
            return super().forward(observation).argmax(-1)

    make: Any = partial(make_chance, actions=2)
    make = partial(SerialEnv, together, make) if together else make
    acts = partial(TensorDictModule, Index(index, 0, 3), ["observation"], ["action"])
    theirs, ours = sides(make, acts, 24, loop=RolloutLoop.AUTO)
    compare(theirs, ours, [Asked(8), Asked(8)])


def test_a_fast_rollout_of_a_policy_that_writes_into_its_observation_is_refused() -> None:
    _, ours = sides(make_chance, partial(policy, WRITES["writes"], 0, 3), 24)
    with pytest.raises(
        FastLoopUnsupported, match="the policy writes into its observation; write to a clone of the tensor, or set"
    ):
        ours.run(Asked(8))


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
