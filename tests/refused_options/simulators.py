"""Of simulators that collectors start."""

from __future__ import annotations

from datetime import timedelta

import pytest

from collectorfleet import Evaluation, SimulatorProcess
from tests import envs

SIMULATOR = SimulatorProcess(["./sim", "{grpc}"], ["grpc"], timedelta(seconds=90))
_IN_TIME = (
    "a collector that waits for its simulator until ready_timeout would count as hung; use more than ready_timeout"
)

REFUSED = [
    pytest.param(
        ("simulator-has-one-environment", "envs_per_collector"),
        {"process": SIMULATOR, "envs_per_collector": 2},
        "several environments would share a collector's only simulator; set envs_per_collector to 1, and raise "
        "num_collectors",
        id="a simulator for two environments",
    ),
    pytest.param(
        ("simulator-has-class-single", "collector_class"),
        {"process": SIMULATOR, "collector_class": "sync"},
        "this class builds several environments, but a collector has only one simulator; use 'single', and raise "
        "num_collectors",
        id="a simulator beside class sync",
    ),
    pytest.param(
        ("simulator-is-ready-in-time", "first_request_timeout"),
        {"process": SIMULATOR, "first_request_timeout": timedelta(seconds=90)},
        _IN_TIME,
        id="a simulator that is ready too late",
    ),
    pytest.param(
        ("simulator-is-ready-in-time", "first_request_timeout"),
        {
            "policy": envs.make_policy(),
            "evaluation": Evaluation(process=SIMULATOR),
            "first_request_timeout": timedelta(seconds=10),
        },
        _IN_TIME,
        id="an evaluator's simulator that is ready too late",
    ),
    pytest.param(
        ("simulator-needs-a-function", "process"),
        {"process": SIMULATOR, "create_env_fn": envs.Counting()},
        "create_env_fn is already an environment, which cannot get the addresses of a simulator; pass a function that "
        "builds the environment",
        id="a simulator beside an environment that is built",
    ),
    pytest.param(
        ("simulator-needs-a-function", "process"),
        {"policy": envs.make_policy(), "evaluation": Evaluation(process=SIMULATOR, create_env_fn=envs.Counting())},
        "create_env_fn is already an environment, which cannot get the addresses of a simulator; pass a function that "
        "builds the environment",
        id="an evaluator's simulator beside an environment that is built",
    ),
    pytest.param(
        ("simulator-or-env-creator", "use_env_creator"),
        {"process": SIMULATOR, "use_env_creator": True},
        "this option builds an environment in the driver, which has no simulator; leave use_env_creator or 'process' "
        "out",
        id="a simulator beside an EnvCreator",
    ),
    pytest.param(
        ("simulator-addresses-are-the-fleets", "create_env_kwargs"),
        {"process": SIMULATOR, "create_env_kwargs": {"process": 3}},
        "the factory gets the addresses of the simulator in the argument 'process'; remove or rename your argument",
        id="a simulator beside an argument of the same name",
    ),
    pytest.param(
        ("simulator-addresses-are-the-fleets", "create_env_kwargs"),
        {
            "policy": envs.make_policy(),
            "create_env_kwargs": {"process": 3},
            "evaluation": Evaluation(process=SIMULATOR),
        },
        "the factory gets the addresses of the simulator in the argument 'process'; remove or rename your argument",
        id="an evaluator's simulator beside an argument of the same name",
    ),
]
