"""What CollectorFleet expects of private names of policies, TensorDicts and schemes, one test for each."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from tensordict import LazyStackedTensorDict, TensorDict
from tensordict.nn import InteractionType, TensorDictModule, TensorDictSequential
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.cases import bounded_policy
from torch import nn
from torchrl.modules import MLP
from torchrl.modules.inference_server import _server
from torchrl.weight_update import RayWeightSyncScheme

from collectorfleet.torchrl_private import policies, tensordicts, weights


def test_an_evaluator_calls_the_users_module() -> None:
    policy, env = bounded_policy(draws=False), make_chance()
    made = policies.make_compatible_policy(policy, env.observation_spec, env=env, fast_wrap=True, trust_policy=None)
    assert [*made.parameters()] == [*policy.parameters()]


def test_selected_entries_are_found() -> None:
    policy = bounded_policy(draws=True)
    assert not policies.selects_entries(policy)
    policy.select_out_keys("action")
    assert policies.selects_entries(policy)


def test_a_sequence_that_ends_in_a_distribution_draws() -> None:
    assert policies.draws(bounded_policy(draws=True))


def test_the_modules_of_a_sequence_are_in_their_order() -> None:
    first = TensorDictModule(nn.Linear(3, 4), ["observation"], ["hidden"])
    second = TensorDictModule(nn.Linear(4, 2), ["hidden"], ["action"])
    assert [*policies.modules_of(TensorDictSequential(first, second))] == [first, second]


def test_inputs_by_name_are_found() -> None:
    by_name = TensorDictModule(lambda x: x, in_keys={"x": "observation"}, out_keys=["action"])
    assert policies.takes_by_name(by_name)
    assert not policies.takes_by_name(bounded_policy(draws=False))


def test_the_inner_module_is_called_by_the_method_that_was_given() -> None:
    class Two(nn.Module):
        def double(self, seen: torch.Tensor) -> torch.Tensor:
            return 2 * seen

    module = TensorDictModule(Two(), ["observation"], ["action"], method="double")
    assert policies.call_module(module, [torch.ones(2)]).tolist() == [2, 2]


def test_the_generator_of_a_policy_is_torchs_own_by_default() -> None:
    drawing = bounded_policy(draws=True)[-1]
    assert policies.generator_key(drawing) is None
    assert policies.generator_of(drawing) is None


def test_an_action_is_drawn_as_the_way_of_exploring_says() -> None:
    drawing = bounded_policy(draws=True)[-1]
    distribution = torch.distributions.Normal(torch.ones(2), torch.ones(2))
    drawn = policies.draw(drawing, distribution, interaction_type=InteractionType.MEAN, generator=None)
    assert drawn.tolist() == [1, 1]


def test_an_mlp_says_whether_it_reshapes_its_output() -> None:
    assert not policies.reshapes_output(MLP(in_features=3, out_features=2))
    assert policies.reshapes_output(MLP(in_features=3, out_features=(2, 2)))


def test_a_tensordict_is_made_of_entries_as_they_are() -> None:
    seen = torch.ones(2, 3)
    made = tensordicts.tensordict_of({"observation": seen}, torch.Size([2]), None)
    assert made["observation"] is seen
    assert made.batch_size == (2,)


def test_named_dimensions_are_found() -> None:
    assert not tensordicts.has_names(TensorDict(batch_size=[2]))
    assert tensordicts.has_names(TensorDict(batch_size=[2], names=["time"]))
    # The encoder reads the names of a lazy stack itself, whatever this says.
    assert LazyStackedTensorDict(TensorDict(batch_size=[2])).names is not None


def test_a_signature_names_each_weight() -> None:
    assert "weight" in str(weights.weight_signature(TensorDict({"weight": torch.ones(2)})))


def test_the_actor_of_a_service_is_found() -> None:
    class Service:
        _actor = "actor"

    assert weights.actor_of(Service()) == "actor"
    # A service starts Ray and a policy, so its code is read instead.
    assert "self._actor = " in inspect.getsource(_server._RayInferenceServer)


def test_a_scheme_can_join_receivers_when_it_sends() -> None:
    scheme: Any = RayWeightSyncScheme()
    assert hasattr(scheme, "_manage_receiver_connect")
    weights.join_when_sent(scheme)
    assert scheme._manage_receiver_connect is True
