"""Environments, policies and hooks that do what few do give TorchRL's frames all the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule, TensorDictSequential
from tests.gym_envs import Chance, make_chance
from tests.unit.collectorfleet.actor.rollout.cases import linear_policy
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, sides
from torch import nn
from torchrl.data import Unbounded
from torchrl.envs import EnvBase, GymWrapper, SerialEnv, SignTransform, TensorDictPrimer, ToTensorImage, TransformedEnv

FAST = "Fast"
OWN_STEP = "Fast, by the environment's own step: "
ASKED = (Asked(7), Asked(5, cut_after=3), Asked(6, random=True), Asked(20))


@dataclass(frozen=True)
class Habit:
    """What an environment does otherwise than :class:`Chance`."""

    seen: Space[Any] | None = None
    acts: Space[Any] | None = None
    see: Callable[[np.ndarray], Any] | None = None  # of three numbers
    pay: Callable[[float], Any] | None = None  # of a reward
    end: Callable[[bool], Any] | None = None
    over_at_once: bool = False


class Unusual(Chance):
    """Its reward says also which type of action it was asked for."""

    def __init__(self, habit: Habit) -> None:
        super().__init__(ends=0.2)
        self._habit = habit
        self.observation_space = habit.seen or self.observation_space
        self.action_space = habit.acts or self.action_space

    def step(self, action: Any) -> Any:
        self._steps += 1
        ends = self.np_random.random(2) < 0.2
        terminated, truncated = bool(ends[0]) or self._habit.over_at_once, bool(ends[1])
        reward = float(np.sum(action)) + len(type(action).__name__)
        end = self._habit.end or bool
        return self._observe(), (self._habit.pay or float)(reward), end(terminated), end(truncated), {}

    def _observe(self) -> Any:
        numbers = self.np_random.normal(size=3).astype(np.float32)
        return (self._habit.see or np.asarray)(numbers)


def box(dtype: str, shape: tuple[int, ...] = (3,)) -> Box:
    return Box(-100, 100, shape, np.dtype(dtype).type)


HABITS: dict[str, tuple[Habit, str]] = {
    "sees a list": (Habit(see=np.ndarray.tolist), FAST),
    "sees a tensor": (Habit(see=torch.from_numpy), FAST),
    "sees more digits than it says": (Habit(see=lambda numbers: numbers.astype(np.float64)), FAST),
    "sees half numbers": (Habit(box("float16"), see=lambda numbers: numbers.astype(np.float16)), FAST),
    "sees whole numbers": (Habit(box("int64"), see=lambda numbers: (9 * numbers).astype(np.int64)), FAST),
    "sees what is true": (Habit(Box(0, 1, (3,), bool), see=lambda numbers: numbers > 0), FAST),
    "sees NaN": (Habit(see=lambda numbers: np.where(numbers > 0, np.nan, numbers)), FAST),
    "sees beyond its bounds": (Habit(Box(-0.1, 0.1, (3,), np.float32)), FAST),
    "sees every second number": (Habit(see=lambda numbers: np.repeat(numbers, 2)[::2]), FAST),
    "sees one number without a shape": (Habit(box("float32", ()), see=lambda numbers: numbers[0]), OWN_STEP),
    "sees a choice": (Habit(Discrete(5), see=lambda numbers: int(abs(9 * numbers[0])) % 5), OWN_STEP),
    "sees bits": (Habit(MultiBinary(3), see=lambda numbers: (numbers > 0).astype(np.int8)), OWN_STEP),
    "sees a dictionary": (
        Habit(
            Dict(far=box("float32", (1,)), near=box("float32", (2,))),
            see=lambda numbers: {"far": numbers[:1], "near": numbers[1:]},
        ),
        OWN_STEP,
    ),
    "pays nothing": (Habit(pay=lambda _: None), FAST),
    "pays nothing at times": (Habit(pay=lambda reward: reward if reward > 7 else None), FAST),
    "pays an array of one": (Habit(pay=lambda reward: np.array([reward], np.float32)), FAST),
    "pays an array without a shape": (Habit(pay=np.asarray), FAST),
    "pays a tensor": (Habit(pay=torch.tensor), FAST),
    "pays whole numbers": (Habit(pay=int), FAST),
    "pays what is true": (Habit(pay=lambda reward: np.bool_(reward > 7)), FAST),
    "pays too much for float32": (Habit(pay=lambda reward: 1e300 * reward), FAST),
    "ends as numpy says it": (Habit(end=np.bool_), FAST),
    "ends at once": (Habit(over_at_once=True), FAST),
    "acts by a choice": (Habit(acts=Discrete(3)), FAST),
    "acts by a choice that begins with one": (Habit(acts=Discrete(3, start=1)), FAST),
    "acts by several choices of as many": (Habit(acts=MultiDiscrete([3, 3])), FAST),
    "acts by several choices": (Habit(acts=MultiDiscrete([3, 4])), OWN_STEP),
    "acts by bits": (Habit(acts=MultiBinary(3)), OWN_STEP),
    "acts by rows": (Habit(acts=Box(-1, 1, (2, 2), np.float32)), FAST),
    "acts by whole numbers": (Habit(acts=Box(0, 5, (2,), np.int64)), FAST),
    "acts by one number without a shape": (Habit(acts=Box(-1, 1, (), np.float32)), FAST),
}


def made(habit: Habit) -> EnvBase:
    return GymWrapper(Unusual(habit))


def together(make: Callable[[], EnvBase], count: int = 3) -> EnvBase:
    return SerialEnv(count, make)


@pytest.mark.filterwarnings("ignore:.*(NaN|nan)", "ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize("count", [0, 2], ids=["alone", "two"])
@pytest.mark.parametrize(("habit", "loop"), HABITS.values(), ids=HABITS)
def test_an_environment_may_have_habits(habit: Habit, loop: str, count: int) -> None:
    make = partial(made, habit)
    theirs, ours = sides(partial(together, make, count) if count else make, None, 12, seed=3)
    assert ours.runner.loop == loop if loop == FAST else ours.runner.loop.startswith(loop)
    for asked in ASKED:
        left, right = theirs.run(asked), ours.run(asked)
        assert left.batch is not None
        assert right.batch is not None
        assert_equal(left, right)


def private() -> TensorDictSequential:
    torch.manual_seed(7)
    hidden = TensorDictModule(nn.Linear(3, 4), ["observation"], ["_hidden"])
    return TensorDictSequential(hidden, TensorDictModule(nn.Linear(4, 2), ["_hidden"], ["action"]))


def signed(make: Callable[[], EnvBase]) -> EnvBase:
    return TransformedEnv(make(), SignTransform(in_keys=["reward"]))


BOTH_LOOPS = pytest.mark.parametrize(
    "make",
    [
        pytest.param(partial(together, make_chance), id="fast"),
        pytest.param(partial(signed, partial(together, make_chance)), id="by its own step"),
    ],
)


@BOTH_LOOPS
def test_what_a_policy_says_in_private_is_in_no_batch(make: Callable[[], EnvBase]) -> None:
    theirs, ours = sides(make, private, 12)
    for asked in ASKED:
        right = ours.run(asked)
        assert_equal(theirs.run(asked), right)
        assert right.batch is not None
        assert "_hidden" not in right.batch


@BOTH_LOOPS
@pytest.mark.parametrize("key", ["action", "terminated", ("next", "observation"), ("next", "done"), ("next", "reward")])
def test_a_hook_may_take_an_entry_out_of_each_batch(make: Callable[[], EnvBase], key: Any) -> None:
    def remove(batch: TensorDictBase) -> None:
        batch.pop(key, None)

    theirs, ours = sides(make, linear_policy, 12, post_collect_hook=remove)
    for asked in ASKED:
        right = ours.run(asked)
        assert_equal(theirs.run(asked), right)
        assert right.batch is not None
        assert key not in right.batch.keys(True, True)


class Remembering(nn.Module):
    """A recurrent policy that TorchRL knows nothing about."""

    def __init__(self) -> None:
        super().__init__()
        self._seen, self._kept = nn.Linear(3, 2), nn.Linear(2, 2)

    def forward(self, observation: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.tanh(self._seen(observation) + self._kept(hidden))
        return hidden, hidden


def remembering() -> TensorDictModule:
    torch.manual_seed(7)
    return TensorDictModule(Remembering(), ["observation", "hidden"], ["action", ("next", "hidden")])


def with_memory() -> EnvBase:
    return TransformedEnv(make_chance(), TensorDictPrimer(hidden=Unbounded(shape=(2,))))


@pytest.mark.parametrize("count", [0, 3], ids=["alone", "three"])
def test_a_policy_with_a_memory_that_the_environment_carries_steps_with_it(count: int) -> None:
    theirs, ours = sides(partial(together, with_memory, count) if count else with_memory, remembering, 12)
    assert ours.runner.loop.startswith(OWN_STEP)
    for asked in ASKED:
        assert_equal(theirs.run(asked), ours.run(asked))


def image(dtype: torch.dtype) -> EnvBase:
    return TransformedEnv(make_chance(shape=(4, 4, 3), dtype="uint8"), ToTensorImage(dtype=dtype))


def images_of_two_dtypes() -> EnvBase:
    return SerialEnv(2, image, create_env_kwargs=[{"dtype": torch.float32}, {"dtype": torch.float16}])


def test_environments_whose_transforms_differ_in_dtype_step_themselves() -> None:
    theirs, ours = sides(images_of_two_dtypes, None, 12)
    assert ours.runner.loop == f"{OWN_STEP}the environments have different transforms"
    for asked in ASKED:
        assert_equal(theirs.run(asked), ours.run(asked))


class Reusing(Chance):
    """Writes all that it sees into one array."""

    def _observe(self) -> np.ndarray:
        self._seen: np.ndarray = getattr(self, "_seen", np.zeros(3, np.float32))
        self._seen[...] = super()._observe()
        return self._seen


class Reused(nn.Module):
    """Writes all that it says into one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self._said: torch.Tensor | None = None

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        if self._said is None:
            self._said = torch.zeros_like(observation[..., :2])
        return self._said.copy_(observation[..., :2])


def vector_that_reuses() -> EnvBase:
    return GymWrapper(SyncVectorEnv([Chance] * 2, copy=False, autoreset_mode=AutoresetMode.DISABLED))


@pytest.mark.parametrize(
    "make", [pytest.param(lambda: GymWrapper(Reusing()), id="alone"), pytest.param(vector_that_reuses, id="vector")]
)
def test_frames_show_what_was_seen_where_an_environment_writes_it_over(make: Callable[[], EnvBase]) -> None:
    def seen(loops: Any, loop: int) -> torch.Tensor:
        batch = loops[loop].run(Asked(8)).batch
        assert batch is not None
        found: torch.Tensor = batch["observation"].flatten(0, -2)
        return found

    loops = sides(make, None, 12)
    # TorchRL's loop keeps each step's observation where the environment has it, and reads them all at the end.
    assert len(seen(loops, 0).unique(dim=0)) < len(seen(loops, 1).unique(dim=0))
    # What there is no doubt about: the same environments in a SerialEnv, which copies.
    _, alone = sides(lambda: GymWrapper(Reusing()), None, 12)
    copied, _ = sides(lambda: SerialEnv(1, lambda: GymWrapper(Reusing())), None, 12)
    assert torch.equal(seen((copied,), 0), seen((alone,), 0))


def test_frames_show_what_was_said_where_a_policy_writes_it_over() -> None:
    theirs, ours = sides(make_chance, lambda: TensorDictModule(Reused(), ["observation"], ["action"]), 12)
    left, right = theirs.run(Asked(8)).batch, ours.run(Asked(8)).batch
    assert left is not None
    assert right is not None
    assert len(left["action"].unique(dim=0)) == 1
    assert torch.equal(right["action"], right["observation"][:, :2])
