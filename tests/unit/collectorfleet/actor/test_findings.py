"""What a collector notices of its environment and policy when it is built."""

from __future__ import annotations

from typing import Any

import pytest
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule, TensorDictModuleBase, TensorDictSequential
from tests import envs
from torch import nn
from torchrl.envs import Compose, EnvBase, InitTracker, TransformedEnv
from torchrl.modules import GRUModule, LSTMModule

from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.server import CollectorServer
from collectorfleet.messages import CollectorId, Started


def memory(kind: str) -> Any:
    module, keys = (LSTMModule, ["h", "c"]) if kind == "lstm" else (GRUModule, ["h"])
    return module(
        input_size=3,
        hidden_size=4,
        in_keys=["observation", *keys],
        out_keys=["features", *(("next", key) for key in keys)],
    )


def policy(recurrent: Any) -> TensorDictSequential:
    return TensorDictSequential(recurrent, TensorDictModule(nn.Linear(4, 2), ["features"], ["action"]))


def findings(create_env: Any, acting: Any, rollout: RolloutLoop) -> tuple[str, ...]:
    server = CollectorServer(CollectorId("c0", 1), CollectorConfig(create_env, acting, 6, rollout=rollout))
    started = server.build(0, seed_environment=False)
    assert isinstance(started, Started), started
    return started.findings


@pytest.mark.parametrize("rollout", [RolloutLoop.AUTO, RolloutLoop.TORCHRL])
@pytest.mark.parametrize(("kind", "keys"), [("lstm", "h, c"), ("gru", "h")])
def test_a_recurrent_policy_without_a_primer_is_told_with_key_and_transform(
    kind: str, keys: str, rollout: RolloutLoop
) -> None:
    def without() -> EnvBase:
        return TransformedEnv(envs.make_counting(), InitTracker())

    recurrent = memory(kind)
    (found,) = findings(without, policy(recurrent), rollout)
    assert found == (
        f"the environment does not pass on the recurrent state {keys}, which is zero at each step; append "
        "a TensorDictPrimer to the environment, such as module.make_tensordict_primer()"
    )


def test_a_recurrent_policy_with_a_primer_is_nothing_to_tell() -> None:
    recurrent = memory("lstm")

    def primed() -> EnvBase:
        return TransformedEnv(envs.make_counting(), Compose(InitTracker(), recurrent.make_tensordict_primer()))

    assert findings(primed, policy(recurrent), RolloutLoop.AUTO) == ()


@pytest.mark.parametrize("acting", [None, envs.make_policy(), envs.make_noisy_policy()])
def test_other_policies_are_nothing_to_tell(acting: Any) -> None:
    assert findings(envs.make_counting, acting, RolloutLoop.AUTO) == ()


class WithoutKeys(TensorDictModuleBase):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", tensordict["observation"][..., :2])


def test_a_policy_whose_module_has_no_keys_is_built() -> None:
    assert findings(envs.make_counting, WithoutKeys(), RolloutLoop.AUTO) == ()
