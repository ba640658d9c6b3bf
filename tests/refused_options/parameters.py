"""Of parameters of environments."""

from __future__ import annotations

import pytest

from collectorfleet.evaluation.options import Evaluation
from collectorfleet.parameters import EnvironmentParameters
from tests import envs
from tests.parameterized_envs import curriculum

TAKEN = EnvironmentParameters()
PROCESSES = (
    "a collector of several processes cannot set parameters of its environments; use collector_class 'single' "
    "with ParallelEnv, or use more collectors"
)

REFUSED = [
    pytest.param(
        ("parameters-or-processes", "environment_parameters"),
        {"environment_parameters": TAKEN, "collector_class": "sync"},
        PROCESSES,
        id="parameters of environments in processes of a collector",
    ),
    pytest.param(
        ("parameters-or-whole-trajectories", "environment_parameters"),
        {"environment_parameters": TAKEN, "trajs_per_batch": 2},
        "cannot be used with trajs_per_batch, because parameters could change within a trajectory; leave one of the "
        "two out",
        id="parameters in whole trajectories",
    ),
    pytest.param(
        ("parameters-need-trajectories", "environment_parameters"),
        {"environment_parameters": TAKEN, "collector_kwargs": {"track_traj_ids": False}},
        "the parameters of a frame are found by its trajectory id; leave track_traj_ids=False out of collector_kwargs",
        id="parameters without trajectories",
    ),
    pytest.param(
        ("curriculum-needs-evaluation", "curriculum"),
        {"environment_parameters": TAKEN, "curriculum": curriculum},
        "the curriculum is called after each evaluation, but the fleet has no evaluation; pass "
        "evaluation=Evaluation(...)",
        id="a curriculum without an evaluation",
    ),
    pytest.param(
        ("curriculum-needs-parameters", "curriculum"),
        {"curriculum": curriculum, "evaluation": Evaluation(), "policy": envs.make_policy()},
        "the curriculum sets parameters of the environments, but this fleet has no parameters; pass "
        "environment_parameters=EnvironmentParameters()",
        id="a curriculum without parameters",
    ),
]
