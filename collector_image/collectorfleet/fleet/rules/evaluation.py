"""Rules about the environment and the policy of evaluators."""

from __future__ import annotations

from typing import Final

from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.per_collector import is_list
from collectorfleet.fleet.rules.rule import Rule, given, is_service

# The attributes of a collector that an evaluator has as well.
_REACHED: Final = ("env", "policy")


def _names_its_environment(options: FleetArguments) -> bool:
    evaluation = options.evaluation
    differ = is_list(options.create_env_fn) or is_list(options.create_env_kwargs)
    return evaluation is None or evaluation.create_env_fn is not None or not differ


def _has_models(options: FleetArguments) -> bool:
    return options.evaluation is None or all(path.split(".")[0] in _REACHED for path in options.models or {})


EVALUATION: Final = (
    Rule(
        "evaluation-reaches-models",
        "evaluation",
        _has_models,
        "evaluators have only a collector's environment and policy; begin each path in 'models' with 'env' or "
        "'policy', or leave 'evaluation' out",
    ),
    Rule(
        "evaluation-needs-a-policy",
        "evaluation",
        lambda options: options.evaluation is None or given(options, "policy") or given(options, "policy_factory"),
        "there is no policy to evaluate, because collectors act at random; pass policy or policy_factory",
    ),
    Rule(
        "evaluation-or-service",
        "evaluation",
        lambda options: options.evaluation is None or not is_service(options.policy),
        "an inference service acts with its newest weights, but an evaluation needs one version; pass the module as "
        "policy, or leave evaluation out",
    ),
    Rule(
        "evaluation-of-one-policy",
        "evaluation",
        lambda options: options.evaluation is None or not is_list(options.policy_factory),
        "collectors have different policies (policy_factory is a list), but evaluators need the same policy; pass "
        "one factory",
    ),
    Rule(
        "evaluation-of-one-environment",
        "evaluation",
        _names_its_environment,
        "collectors have different environments; pass the environment of the evaluators as "
        "Evaluation(create_env_fn=...)",
    ),
)
