"""Environments that are batches of tensors give TorchRL's frames, whether they are reset by the host or by a mask."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from gymnasium.vector import AutoresetMode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensordict.nn import TensorDictModule
from tests import tensor_envs
from tests.example_count import examples
from tests.unit.collectorfleet.actor.rollout.cases import TENSORS, bounded_policy, vectors
from tests.unit.collectorfleet.actor.rollout.recorded_graphs import Pretended
from tests.unit.collectorfleet.actor.rollout.sides import Asked, Side, assert_equal, compare, sides
from torch import nn
from torchrl.envs import (
    EnvBase,
    ExplorationType,
    RewardSum,
)

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.actor.rollout import find
from collectorfleet.actor.rollout.collector import FastCollector, call_in_steps
from collectorfleet.actor.rollout.exact import FastLoopUnsupported
from collectorfleet.actor.rollout.loop import WRITES


def publish_in_steps(side: Side) -> None:
    """Have each step act with other weights."""
    collector = side.runner.collector
    versions = iter(range(1, 1000))

    def publish() -> None:
        version = next(versions)
        with torch.no_grad():
            for weight in collector.policy.parameters():
                weight.mul_(0.9).add_(0.01 * version)

    if isinstance(collector, FastCollector):
        collector.call_before_policy(publish)
    else:
        call_in_steps(collector, collector.policy, publish)


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs", "ignore:Support of VecNormV2:UserWarning")
@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(data=st.data(), name=st.sampled_from(list(TENSORS)), seed=st.integers(0, 2**20))
def test_frames_are_torchrls_entry_by_entry(data: st.DataObject, name: str, seed: int) -> None:
    policy = data.draw(
        st.sampled_from([None, partial(bounded_policy, draws=False), partial(bounded_policy, draws=True)])
    )
    counted = "transformed" in name or name in ("truncated", "normal")
    options = {
        "max_frames_per_traj": None if counted else data.draw(st.none() | st.integers(2, 9)),
        "reset_at_each_iter": data.draw(st.booleans()),
        "exploration_type": data.draw(st.sampled_from([ExplorationType.RANDOM, ExplorationType.DETERMINISTIC])),
        "compact_obs": data.draw(st.booleans()),
        "set_truncated": "truncated" in name and data.draw(st.booleans()),
    }
    theirs, ours = sides(TENSORS[name], policy, 24, seed, **options)
    assert ours.runner.loop == "Fast, with tensors on cpu"
    if policy is not None and data.draw(st.booleans()):
        for side in (theirs, ours):
            publish_in_steps(side)
    requests = st.builds(Asked, st.integers(1, 20), st.booleans(), st.none() | st.integers(1, 6))
    compare(theirs, ours, data.draw(st.lists(requests, min_size=1, max_size=4)))
    if data.draw(st.booleans()):
        for side in (theirs, ours):
            side.do(lambda runner: runner.collector.reset())
    assert_equal(theirs.run(Asked(8)), ours.run(Asked(8)))


def test_frames_show_what_was_seen_if_an_environment_shows_all_in_one_tensor(graphs: list[Pretended]) -> None:
    for recorded in (False, True):
        _, apart = sides(partial(tensor_envs.MaskedWalks, 4), partial(bounded_policy, draws=True), 24)
        _, buffered = sides(
            partial(tensor_envs.BufferedWalks, 4), partial(bounded_policy, draws=True), 24, cudagraph_policy=recorded
        )
        for _ in range(3):
            assert_equal(apart.run(Asked(8)), buffered.run(Asked(8)))
    assert graphs


class Writing(nn.Module):
    """Writes into its observation, from the step ``begins`` on."""

    def __init__(self, begins: int) -> None:
        super().__init__()
        self._left = begins
        self.layer = nn.Linear(3, 2)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        if self._left == 0:
            observation.mul_(0.5)
        self._left = max(0, self._left - 1)
        return self.layer(observation)


def writing(begins: int) -> TensorDictModule:
    torch.manual_seed(3)
    return TensorDictModule(Writing(begins), ["observation"], ["action"])


class Endless(tensor_envs.MaskedWalks):
    """Ends nowhere."""

    def _reached(self, action: torch.Tensor, terminated: torch.Tensor, truncated: torch.Tensor) -> Any:
        return super()._reached(action, torch.zeros_like(terminated), torch.zeros_like(truncated))


@pytest.mark.parametrize("begins", [1, 2, 6, 9, 14])
def test_torchrls_loop_takes_over_from_a_policy_that_writes_into_its_observation(begins: int) -> None:
    # TorchRL's collector asks a policy once when it is built.
    theirs, ours = sides(partial(Endless, 3), partial(writing, begins), 24, loop=RolloutLoop.AUTO)
    for asked in (Asked(8), Asked(8), Asked(4)):
        assert_equal(theirs.run(asked), ours.run(asked))
    assert ours.runner.loop == f"TorchRL: {WRITES}"


def test_an_environment_that_is_over_when_it_begins_is_an_error() -> None:
    class Over(tensor_envs.MaskedWalks):
        def _reset(self, tensordict: Any = None, **options: Any) -> Any:
            found = super()._reset(tensordict, **options)
            mask = None if tensordict is None else tensordict.get("_reset", None)
            return found if mask is None else found.update({"done": mask.clone(), "terminated": mask.clone()})

    _, ours = sides(partial(Over, 4), partial(bounded_policy, draws=False), 24)
    with pytest.raises(RuntimeError, match=r"done is True right after the environment's reset"):
        ours.run(Asked(20))


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        pytest.param({"step": EnvBase.step}, "step replaces TorchRL's method", id="step"),
        pytest.param({"_post_step_mdp_hooks": lambda self, a, b: (a, b)}, "has a hook after its step", id="hook"),
        pytest.param(
            {"_step_proc_data": EnvBase._step_proc_data},
            "_step_proc_data replaces TorchRL's method",
            id="results",
        ),
    ],
)
def test_what_steps_in_its_own_way_is_stepped_by_it(kind: dict[str, Any], why: str) -> None:
    own = type("Own", (tensor_envs.MaskedWalks,), kind)
    theirs, ours = sides(partial(own, 3), partial(bounded_policy, draws=False), 24)
    assert ours.runner.loop.startswith("Fast, by the environment's own step: ")
    with pytest.raises(FastLoopUnsupported, match=why):
        find.find_tensor_loop(ours.runner.collector)
    assert_equal(theirs.run(Asked(8)), ours.run(Asked(8)))


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs")
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_a_wrapper_of_gymnasiums_vectors_gives_torchrls_frames(mode: AutoresetMode) -> None:
    # On the CPU another loop steps them. Wrappers of simulators on a GPU are of the same kind.
    theirs, ours = sides(partial(vectors, mode, chain=(RewardSum,)), None, 24)
    collector = ours.runner.collector
    collector._use(find.find_tensor_loop(collector))
    assert ours.runner.loop == "Fast, with tensors on cpu"
    for asked in (Asked(12), Asked(9, cut_after=4), Asked(12, random=True), Asked(12)):
        assert_equal(theirs.run(asked), ours.run(asked))
