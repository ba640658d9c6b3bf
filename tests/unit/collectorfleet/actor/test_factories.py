"""What the user's factories return: checked where they are called, and told with the name of the factory."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from gymnasium.vector import SyncVectorEnv
from tests import envs
from torchrl.collectors import MultiSyncCollector

from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.server import CollectorServer
from collectorfleet.fleet.collector_configs import CollectorConfigs
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.messages import CollectorId, Raised

C0 = CollectorId("c0", 1)


def make_none(**_: Any) -> None:
    """A function without a return statement."""


def make_gymnasium() -> gymnasium.Env[Any, Any]:
    return gymnasium.make("CartPole-v1")


def make_vector() -> SyncVectorEnv:
    return SyncVectorEnv([make_gymnasium] * 2)


def make_class() -> type:
    return envs.Counting


def make_number() -> int:
    return 3


def make_function() -> Any:
    return envs.make_counting


def raise_a_typo() -> None:
    raise AttributeError("no such game")


def told(config: CollectorConfig) -> Raised:
    server = CollectorServer(C0, config)
    said = server.build(0, seed_environment=False)
    assert isinstance(said, Raised), said
    return said


def config(**given: Any) -> CollectorConfig:
    options = {"create_env_fn": envs.make_counting, "frames_per_batch": 8, **given}
    recipes = CollectorConfigs(FleetOptions(**options))
    return recipes.config(0, 8)


NOT_AN_ENVIRONMENT = [
    pytest.param(make_none, "None; return a TorchRL environment (EnvBase)", id="nothing"),
    pytest.param(
        make_gymnasium,
        "a gymnasium TimeLimit; return torchrl.envs.GymWrapper(env)",
        id="a Gymnasium environment",
    ),
    pytest.param(
        make_vector,
        "a gymnasium SyncVectorEnv; return torchrl.envs.GymWrapper(env)",
        id="a Gymnasium vector environment",
    ),
    pytest.param(make_class, "the class Counting; return an instance, Counting(...)", id="a class"),
    pytest.param(
        make_function,
        "a function; call this object, and return the result, a TorchRL environment (EnvBase)",
        id="a function",
    ),
    pytest.param(make_number, "an int; return a TorchRL environment (EnvBase)", id="a number"),
]


@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("rollout", ["auto", "torchrl"])
@pytest.mark.parametrize(("make", "sentence"), NOT_AN_ENVIRONMENT)
def test_an_environment_factory_that_returns_something_else_is_named(
    make: Any, sentence: str, rollout: str, together: int
) -> None:
    said = told(config(create_env_fn=make, rollout=rollout, envs_per_collector=together))
    assert said.where == f"environment {make.__name__}"
    assert said.cause == f"NotAnEnvironment: {make.__name__} returned {sentence}"
    assert said.by_environment


def test_factories_of_their_own_are_checked_one_by_one() -> None:
    recipes = CollectorConfigs(FleetOptions([envs.make_counting, make_none], frames_per_batch=8))
    assert not isinstance(CollectorServer(C0, recipes.config(0, 8)).build(0, seed_environment=False), Raised)
    assert told(recipes.config(1, 8)).where == "environment make_none"


def test_an_environment_creator_calls_a_checked_factory() -> None:
    with pytest.raises(TypeError, match="make_none returned None"):
        config(create_env_fn=make_none, use_env_creator=True)


NOT_A_POLICY = [
    pytest.param(make_none, "None; return the policy: a module, or a function of a TensorDict", id="nothing"),
    pytest.param(make_number, "an int; return the policy: a module, or a function of a TensorDict", id="a number"),
    pytest.param(make_class, "the class Counting; return an instance, Counting(...)", id="a class"),
]


@pytest.mark.parametrize("rollout", list(RolloutLoop))
@pytest.mark.parametrize(("make", "sentence"), NOT_A_POLICY)
def test_a_policy_factory_that_returns_something_else_is_named(make: Any, sentence: str, rollout: str) -> None:
    said = told(config(policy_factory=make, rollout=rollout))
    assert (said.where, said.by_environment) == ("policy", False)
    assert said.cause == f"NotAPolicy: {make.__name__} returned {sentence}"


@pytest.mark.parametrize(
    ("given", "where", "cause"),
    [
        pytest.param(
            {"create_env_fn": make_none},
            "environment make_none",
            "NotAnEnvironment: make_none returned None; return a TorchRL environment (EnvBase)",
            id="no environment",
        ),
        pytest.param(
            {"policy_factory": make_none},
            "policy",
            "NotAPolicy: make_none returned None; return the policy: a module, or a function of a TensorDict",
            id="no policy",
        ),
        pytest.param(
            {"create_env_fn": raise_a_typo},
            "environment raise_a_typo",
            "AttributeError: no such game",
            id="an environment that raises",
        ),
        pytest.param(
            {"policy_factory": raise_a_typo}, "policy", "AttributeError: no such game", id="a policy that raises"
        ),
    ],
)
def test_processes_of_a_collector_tell_the_same(given: dict[str, Any], where: str, cause: str) -> None:
    said = told(config(collector_class=MultiSyncCollector, num_workers_per_collector=1, **given))
    assert (said.where, said.cause) == (where, cause)
    assert given[next(iter(given))].__name__ in said.traceback


def test_a_policy_factory_may_use_an_environment_that_raises() -> None:
    def make_policy() -> None:
        gymnasium_wrapper = envs.make_counting(misbehaves="raise", at=1)
        gymnasium_wrapper.rollout(2)

    said = told(config(policy_factory=make_policy))
    assert (said.where, said.cause) == ("policy", "ValueError: the game is broken")
