"""Holds a policy on another device against TorchRL's loop, and one to be recorded; a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from tensordict.nn import TensorDictModule
from tests import pretended_device
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.cases import layered_policy, several_kinds, together
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, sides
from torch import nn
from torch.distributions import Normal
from torchrl.envs import EnvBase
from torchrl.modules import NormalParamExtractor, OneHotCategorical, ProbabilisticActor

from collectorfleet.actor.finished_rollout import Rollout

STORED = {"storing_device": "cpu", "env_device": "cpu"}


def drawing(actions: int) -> ProbabilisticActor:
    torch.manual_seed(3)
    names, kind = (["logits"], OneHotCategorical) if actions else (["loc", "scale"], Normal)
    network = nn.Sequential(nn.Linear(3, actions or 4), nn.Identity() if actions else NormalParamExtractor())
    return ProbabilisticActor(
        TensorDictModule(network, ["observation"], names), in_keys=names, distribution_class=kind, return_log_prob=True
    )


def brought(rollout: Rollout) -> Rollout:
    assert rollout.batch is not None
    return replace(rollout, batch=rollout.batch.apply(lambda tensor: tensor.cpu()))


CASES: list[tuple[str, Callable[[], EnvBase], Callable[[], Any], dict[str, Any]]] = [
    ("Fast", make_chance, layered_policy, STORED),
    ("Fast", partial(together, 0), layered_policy, STORED),
    ("Fast", partial(together, 3), partial(drawing, 3), STORED),
    ("Fast", partial(together, 0), partial(drawing, 0), STORED),
    ("Fast", partial(together, 0), layered_policy, STORED | {"compile_policy": {"backend": "eager"}}),
    # TorchRL leaves what the policy says where it is.
    ("Fast", partial(together, 0), layered_policy, {"env_device": "cpu"}),
    ("Fast, by the environment's own step", several_kinds, layered_policy, STORED),
]


def main() -> None:
    pretended_device.set_up()
    for loop, env, policy, options in CASES:
        theirs, ours = sides(env, policy, 30, policy_device=pretended_device.NAME, **options)
        assert ours.runner.loop.startswith(loop), ours.runner.loop
        assert next(ours.runner.collector.policy.parameters()).device.type == pretended_device.NAME
        for asked in (Asked(10), Asked(6, cut_after=3), Asked(5, random=True), Asked(10)):
            assert_equal(brought(theirs.run(asked)), ours.run(asked))
            assert theirs.random_state == ours.random_state
        print(f"equal: {loop}, {options}")
    # The last one: TorchRL's recorder changes how torch computes.
    theirs, ours = sides(partial(together, 0), partial(drawing, 0), 30, cudagraph_policy=True)
    assert ours.runner.loop == "Fast", ours.runner.loop
    for asked in (Asked(10), Asked(6, cut_after=3), Asked(5, random=True), Asked(10)):
        assert_equal(theirs.run(asked), ours.run(asked))
        assert theirs.random_state == ours.random_state
    print("recorded nothing without CUDA")


if __name__ == "__main__":
    main()
