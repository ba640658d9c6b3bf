"""What the driver itself runs of the user's code, before there is a Ray."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.manifests import ABSENT, fleet

from collectorfleet.errors import UserCodeError
from collectorfleet.run.driver_code import DriverCode, built_options, load_driver_code, modules_of

# The standard library's functions stand in for the user's: here they are called, and not used.
FLEET: dict[str, Any] = {
    "spec.policy": {"factory": "fractions:Fraction", "kwargs": {"numerator": 1}},
    "spec.driver.train": {"function": "operator:add", "kwargs": {"lr": 1}},
}


def driver_code(**changes: Any) -> DriverCode:
    return load_driver_code(fleet(FLEET | changes).spec)


def test_the_policy_is_built_and_the_training_function_is_only_imported() -> None:
    code = driver_code()
    assert code.train is not None
    assert (code.train.path, code.train.function(1, 2), code.train.kwargs) == ("operator:add", 3, {"lr": 1})
    assert code.built == {"policy": 1}
    assert modules_of(code.built) == {"policy": 1}


def test_a_fleet_that_only_collects_has_no_training_function() -> None:
    assert driver_code(**{"spec.driver": ABSENT, "spec.output": {"path": "/data"}}).train is None


def test_what_factories_of_the_driver_build_arrives_under_the_collectors_names() -> None:
    def part(denominator: int) -> dict[str, Any]:
        return {"factory": "fractions:Fraction", "kwargs": {"numerator": 1, "denominator": denominator}}

    code = driver_code(
        **{
            "spec.collection.postproc": part(2),
            "spec.collectors.failurePolicy": part(3),
            "spec.collectors.scalingPolicy": part(4),
            "spec.weights.models": [{"path": "env.model", **part(5)}, {"path": "reward_model", **part(6)}],
        }
    )
    assert {name: value for name, value in code.built.items() if name != "models"} == {
        "policy": 1,
        "postproc": Fraction(1, 2),
        "failure_policy": Fraction(1, 3),
        "scaling_policy": Fraction(1, 4),
    }
    assert code.built["models"] == {"env.model": Fraction(1, 5), "reward_model": Fraction(1, 6)}
    assert modules_of(code.built) == {
        "policy": 1,
        "model env.model": Fraction(1, 5),
        "model reward_model": Fraction(1, 6),
    }


def test_a_replay_buffer_is_built_once_there_is_a_ray() -> None:
    spec = fleet(FLEET | {"spec.replayBuffer": {"factory": "fractions:Fraction", "kwargs": {"numerator": 7}}}).spec
    assert load_driver_code(spec).built == {"policy": 1}
    assert built_options(spec, on_ray=True) == {"replay_buffer": 7}


@pytest.mark.parametrize("field", ["policy", "collection.postproc", "collectors.failurePolicy"])
def test_a_factory_that_returns_none_is_named_and_counts_for_nothing_else(field: str) -> None:
    nothing = {"factory": "gc:enable"}
    with pytest.raises(UserCodeError, match=r"gc:enable: the factory returned None; return the object that it builds"):
        driver_code(**{f"spec.{field}": nothing})


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        pytest.param({"spec.policy": {"factory": "fractions:Fraction", "kwargs": {"x": 1}}}, "policy", id="policy"),
        pytest.param(
            {"spec.collection.postproc": {"factory": "fractions:Fraction", "kwargs": {"x": 1}}}, "postproc", id="post"
        ),
    ],
)
def test_a_factory_that_raises_is_named_with_the_errors_own_words(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(UserCodeError, match=rf"{where} fractions:Fraction: TypeError: .*unexpected keyword argument"):
        driver_code(**changes)
