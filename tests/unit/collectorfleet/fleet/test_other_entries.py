"""Collectors whose environments differ: no Sync batch has promoted dtypes, or lacks entries of some collectors."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule, TensorDictSequential
from tests import envs
from tests.in_process_fleet import fleet
from torchrl.data import Composite, Unbounded
from torchrl.testing.mocking_classes import HeterogeneousCountingEnv

from collectorfleet import InvalidOption

SYNC: dict[str, Any] = {"num_collectors": 2, "frames_per_batch": 8, "total_frames": 24, "sync": True}
BATCH = "A Sync batch needs the same entries from all collectors; change environments and policies"


class Other(envs.Counting):
    """Has the further entries of ``odd``, each with a shape and a dtype. ``vary``: their specs leave the sizes open."""

    def __init__(self, odd: dict[str, tuple[tuple[int, ...], torch.dtype]], vary: bool) -> None:
        super().__init__(length=4)
        self._odd = {name: torch.zeros(shape, dtype=dtype) for name, (shape, dtype) in odd.items()}
        specs = {
            name: Unbounded(shape=(-1,) * value.ndim if vary else value.shape, dtype=value.dtype)
            for name, value in self._odd.items()
        }
        self.observation_spec = Composite(observation=Unbounded(shape=(3,)), **specs)

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        return super()._reset(tensordict, **kwargs).update(self._odd)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return super()._step(tensordict).update(self._odd)


def make(collector_index: int, vary: bool = False, *, of_each: list[dict[str, Any]]) -> Other:
    return Other(of_each[collector_index], vary)


FLOATS = {"odd": ((2,), torch.float32)}


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        pytest.param({"odd": ((2,), torch.float64)}, "odd is float32 [2] in c0, but float64 [2] in c1", id="dtype"),
        pytest.param({"odd": ((3,), torch.float32)}, "odd is float32 [2] in c0, but float32 [3] in c1", id="shape"),
        pytest.param({}, "frames of c0 have odd, but frames of c1 do not", id="fewer entries"),
        pytest.param(
            FLOATS | {"more": ((), torch.bool)}, "frames of c1 have more, but frames of c0 do not", id="more entries"
        ),
    ],
)
def test_environments_that_differ_are_refused_with_both_collectors(
    other: dict[str, Any], sentence: str, copy: bool
) -> None:
    with fleet(partial(make, of_each=[FLOATS, other]), envs.make_policy(), copy=copy, **SYNC) as collector:
        with pytest.raises(InvalidOption) as refused:
            next(iter(collector))
        assert str(refused.value).startswith(f"create_env_fn: {sentence}. {BATCH}")


def test_environments_whose_sizes_vary_may_have_other_sizes() -> None:
    both = [FLOATS, {"odd": ((3,), torch.float32)}]
    with fleet(partial(make, vary=True, of_each=both), envs.make_policy(), **SYNC) as collector:
        for batch in collector:
            assert [part["odd"].shape[-1] for part in batch.unbind(0)] == [2, 3]


@pytest.mark.parametrize("copy", [False, True])
def test_agents_of_an_environment_may_have_observations_of_different_shapes(copy: bool) -> None:
    with fleet(HeterogeneousCountingEnv, **SYNC, copy=copy) as collector:
        assert [batch.numel() for batch in collector] == [8, 8, 8]


def test_in_mode_async_environments_may_differ() -> None:
    both = [FLOATS, {"odd": ((3,), torch.float64)}]
    options = SYNC | {"sync": False}
    with fleet(partial(make, of_each=both), envs.make_policy(), **options) as collector:
        assert {batch["odd"].dtype for batch in collector} <= {torch.float32, torch.float64}


def test_a_batch_of_random_and_learned_actions_may_lack_the_entries_of_the_policy() -> None:
    options = SYNC | {"init_random_frames": 4}
    total = TensorDictModule(lambda action: action.sum(-1), in_keys=["action"], out_keys=["total"])
    policy = TensorDictSequential(envs.make_policy(), total)
    with fleet(partial(make, of_each=[FLOATS] * 2), policy, **options) as collector:
        assert len(list(collector)) == 3
