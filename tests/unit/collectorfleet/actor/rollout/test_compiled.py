"""A policy that is compiled says what TorchRL's compiled one says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from tensordict.nn import TensorDictModule
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.cases import layered_policy, several_kinds, together
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, compare, sides
from torch import nn
from torchrl.modules import NormalParamExtractor, OneHotCategorical, ProbabilisticActor, TanhNormal

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.rollout.collector import FastCollector
from collectorfleet.actor.rollout.exact import FastLoopUnsupported


def drawing(actions: int) -> ProbabilisticActor:
    torch.manual_seed(3)
    names, kind = (["logits"], OneHotCategorical) if actions else (["loc", "scale"], TanhNormal)
    after = nn.Identity() if actions else NormalParamExtractor()
    network = nn.Sequential(nn.Linear(3, actions or 4), after)
    return ProbabilisticActor(
        TensorDictModule(network, ["observation"], names), in_keys=names, distribution_class=kind, return_log_prob=True
    )


class Traced:
    """A backend that computes as traced, and counts."""

    def __init__(self) -> None:
        self.graphs = self.calls = 0

    def __call__(self, graph: Any, inputs: Any) -> Callable[..., Any]:
        self.graphs += 1

        def call(*given: Any) -> Any:
            self.calls += 1
            return graph(*given)

        return call


@pytest.mark.parametrize(
    ("env", "policy"),
    [
        pytest.param(make_chance, layered_policy, id="one"),
        pytest.param(partial(together, 3), partial(drawing, 3), id="discrete"),
        pytest.param(partial(together, 0), partial(drawing, 0), id="continuous"),
    ],
)
def test_frames_are_torchrls_and_nothing_is_compiled_twice(env: Any, policy: Any) -> None:
    torch.compiler.reset()
    theirs, ours = sides(env, policy, 30, compile_policy={"backend": "eager"})
    mine = Traced()
    ours.runner.collector._found.loop.policy.compile(backend=mine)
    assert ours.runner.loop == "Fast"
    compare(theirs, ours, (Asked(10), Asked(6, cut_after=3), Asked(5, random=True), Asked(10)))
    assert mine.graphs == 1
    assert mine.calls == 10 + 3 + 10 - 1


def test_an_environment_that_steps_itself_is_asked_by_a_compiled_policy_too() -> None:
    torch.compiler.reset()
    theirs, ours = sides(several_kinds, layered_policy, 12, compile_policy={"backend": "aot_eager"})
    assert ours.runner.loop.startswith("Fast, by the environment's own step")
    for asked in (Asked(8), Asked(8)):
        assert_equal(theirs.run(asked), ours.run(asked))


def test_a_backend_that_records_cuda_graphs_computes_as_traced_where_there_is_no_cuda() -> None:
    torch.compiler.reset()
    theirs, ours = sides(make_chance, layered_policy, 12, compile_policy={"backend": "cudagraphs"})
    assert ours.runner.loop == "Fast"
    for asked in (Asked(8), Asked(8)):
        assert_equal(theirs.run(asked), ours.run(asked))


def test_a_policy_that_is_to_be_recorded_on_the_cpu_is_torchrls_to_call(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its recorder changes how torch computes, in all of the process.
    monkeypatch.setattr(FastCollector, "_compile_wrapped_policy", lambda _, policy: policy)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    config = CollectorConfig(make_chance, None, 12, policy_factory=layered_policy, options={"cudagraph_policy": True})
    why = "cudagraph_policy records a policy that is on the CPU"
    assert build(config, 0).loop == f"TorchRL: {why}"
    with pytest.raises(FastLoopUnsupported, match=why):
        build(replace(config, rollout=RolloutLoop.FAST), 0)
