"""Of evaluators."""

from __future__ import annotations

import pytest

from collectorfleet.evaluation.options import Evaluation
from tests import envs
from tests.refused_options.parts import SHARED

OWN_ENVIRONMENTS = "evaluation-of-one-environment", "evaluation"
ENVIRONMENT_SENTENCE = (
    "collectors have different environments; pass the environment of the evaluators as Evaluation(create_env_fn=...)"
)

REFUSED = [
    pytest.param(
        ("evaluation-needs-a-policy", "evaluation"),
        {"evaluation": Evaluation()},
        "there is no policy to evaluate, because collectors act at random; pass policy or policy_factory",
        id="an evaluation of random actions",
    ),
    pytest.param(
        ("evaluation-or-service", "evaluation"),
        {"evaluation": Evaluation(), "policy": SHARED},
        "an inference service acts with its newest weights, but an evaluation needs one version; pass the module as "
        "policy, or leave evaluation out",
        id="an evaluation of an inference service",
    ),
    pytest.param(
        ("evaluation-of-one-policy", "evaluation"),
        {"evaluation": Evaluation(), "policy_factory": [envs.make_policy, envs.make_tied_policy]},
        "collectors have different policies (policy_factory is a list), but evaluators need the same policy; pass "
        "one factory",
        id="an evaluation of several policies",
    ),
    pytest.param(
        ("evaluation-reaches-models", "evaluation"),
        {"evaluation": Evaluation(), "policy": envs.make_policy(), "models": {"postproc.model": envs.make_policy()}},
        "evaluators have only a collector's environment and policy; begin each path in 'models' with 'env' or "
        "'policy', or leave 'evaluation' out",
        id="an evaluation of a model elsewhere",
    ),
    pytest.param(
        OWN_ENVIRONMENTS,
        {
            "evaluation": Evaluation(),
            "policy": envs.make_policy(),
            "create_env_fn": [envs.make_counting, envs.make_random],
        },
        ENVIRONMENT_SENTENCE,
        id="an evaluation of several environments",
    ),
    pytest.param(
        OWN_ENVIRONMENTS,
        {"evaluation": Evaluation(), "policy": envs.make_policy(), "create_env_kwargs": [{"length": 1}, {"length": 2}]},
        ENVIRONMENT_SENTENCE,
        id="an evaluation of environments with arguments of their own",
    ),
]
