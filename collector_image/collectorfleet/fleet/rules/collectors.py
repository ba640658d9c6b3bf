"""Rules about the environment, the policy and the class of one collector."""

from __future__ import annotations

import inspect
from typing import Any, Final

from torchrl.collectors import AsyncCollector, BaseCollector, Collector, MultiAsyncCollector, MultiSyncCollector
from torchrl.envs import EnvBase

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.errors import with_article
from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.rule import Rule, given, is_service, not_both
from collectorfleet.recovery.failure import OnEnvironmentError

# Options for the weights that the fleet publishes. They have no effect with an inference service, which has its own
# weights.
_OF_WEIGHTS: Final = (
    *("update_after_each_batch", "update_between_steps", "max_staleness", "exact_staleness"),
    *("weights_dtype", "weights_filter", "models"),
)
# Arguments of TorchRL's collectors that the fleet sets. The values tell the user what to do instead.
FLEETS_OWN: Final = {
    "create_env_fn": "pass create_env_fn to FleetCollector",
    "policy": "pass policy to FleetCollector",
    "frames_per_batch": "pass frames_per_batch to FleetCollector",
    "total_frames": "pass total_frames to FleetCollector",
    "init_random_frames": "pass init_random_frames to FleetCollector, which counts them over all collectors",
    "split_trajs": "pass split_trajs to FleetCollector, which knows the trajectories of all collectors",
    "replay_buffer": "pass replay_buffer to FleetCollector",
    "interruptor": "pass preemptive_threshold to FleetCollector",
    "weight_sync_schemes": "send weights with update_policy_weights_() of FleetCollector",
    "weight_recv_schemes": "send weights with update_policy_weights_() of FleetCollector",
    "weight_updater": "send weights with update_policy_weights_() of FleetCollector",
}


_SERVICE_HAS_THEM: Final = (
    "the policy is an inference service, which has the weights and counts their versions; leave this option out, and "
    "update the weights with update_policy_weights_(weights)"
)


def _fleets_own(options: FleetArguments) -> list[str]:
    given = options.of_each("collector_kwargs").values
    return [name for keywords in given for name in FLEETS_OWN if name in (keywords or {})]


def _say_fleets_own(options: FleetArguments) -> str:
    name = _fleets_own(options)[0]
    return f"{name} is set by the fleet; {FLEETS_OWN[name]}"


def _no_environments(options: FleetArguments) -> list[Any]:
    """Return those values of ``create_env_fn`` that are neither an environment nor callable."""
    given = options.of_each("create_env_fn").values
    return [one for one in given if not isinstance(one, EnvBase) and not callable(one)]


def _no_policies(options: FleetArguments) -> list[Any]:
    """Return those policy factories that are not callable."""
    given = options.of_each("policy_factory").values
    return [one for one in given if one is not None and not callable(one)]


def _built(options: FleetArguments) -> list[EnvBase]:
    return [one for one in options.of_each("create_env_fn").values if isinstance(one, EnvBase)]


def _without_a_service(name: str) -> Rule:
    return Rule(
        "service-has-the-weights",
        name,
        lambda options: not (is_service(options.policy) and given(options, name)),
        _SERVICE_HAS_THEM,
    )


def _is_torchrls(options: FleetArguments) -> bool:
    found = options.collector_type
    return isinstance(found, type) and issubclass(found, BaseCollector)


# The fleet calls the class with these arguments.
_TAKEN: Final = ("frames_per_batch", "total_frames")
_TAKEN_BY_ONE_PROCESS: Final = (*_TAKEN, "return_same_td")


def _is_driven(options: FleetArguments) -> bool:
    """Return whether the fleet can build and step the class like TorchRL's own collectors for one machine."""
    found = options.collector_type
    # TorchRL's AsyncCollector is an exception. Its argument is one environment, not a list with one environment for
    # each process.
    if not issubclass(found, Collector | MultiSyncCollector | MultiAsyncCollector) or issubclass(found, AsyncCollector):
        return False
    parameters = inspect.signature(found.__init__).parameters
    needed = _TAKEN if options.has_processes else _TAKEN_BY_ONE_PROCESS
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return takes_any or all(name in parameters for name in needed)


def _cannot_act(policy: object) -> bool:
    return isinstance(policy, type) or not (policy is None or callable(policy) or is_service(policy))


def _say_cannot_act(options: FleetArguments) -> str:
    policy: Any = options.policy
    if isinstance(policy, type):
        return f"the class {policy.__name__} is not a policy; pass an instance, {policy.__name__}(...)"
    return f"an object of type {type(policy).__name__} cannot act; pass a module, or a function of a TensorDict"


COLLECTORS: Final = (
    Rule(
        "collector-class-is-known",
        "collector_class",
        _is_torchrls,
        lambda options: (
            f"{options.collector_class!r} is unknown; use 'single', 'sync', 'async' or a class of TorchRL's"
        ),
    ),
    Rule(
        "collector-class-is-driven",
        "collector_class",
        _is_driven,
        lambda options: (
            f"a fleet cannot use {options.collector_type.__name__}; use 'single', 'sync', 'async', or a subclass of "
            "Collector, MultiSyncCollector or MultiAsyncCollector that takes the same arguments"
        ),
    ),
    Rule(
        "class-single-has-one-worker",
        "num_workers_per_collector",
        lambda options: options.num_workers_per_collector == 1 or options.has_processes,
        lambda options: (
            f"{options.num_workers_per_collector} processes need collector_class 'sync' or 'async'. For several "
            "environments in one process, set envs_per_collector"
        ),
    ),
    Rule(
        "rollout-is-known",
        "rollout",
        lambda options: options.rollout in list(RolloutLoop),
        lambda options: f"{options.rollout!r} is unknown; use 'auto', 'fast' or 'torchrl'",
    ),
    Rule(
        "fast-rollout-needs-class-single",
        "rollout",
        lambda options: options.rollout != RolloutLoop.FAST or options.collector_type is Collector,
        lambda options: (
            f"{options.collector_type.__name__} has no fast loop; set collector_class to 'single', or rollout to 'auto'"
        ),
    ),
    Rule(
        "random-frames-or-class-async",
        "init_random_frames",
        lambda options: not (options.random_frames and options.has_processes_that_never_pause),
        "cannot be used with collector_class 'async', whose processes collect ahead and do not know when random "
        "actions end; use 'single' or 'sync'",
    ),
    Rule("keywords-are-not-the-fleets", "collector_kwargs", lambda options: not _fleets_own(options), _say_fleets_own),
    Rule(
        "environments-need-a-function",
        "envs_per_collector",
        lambda options: options.envs_per_collector == 1 or not _built(options),
        lambda options: (
            f"create_env_fn is {with_article(type(_built(options)[0]).__name__)}, of which the fleet cannot build "
            f"{options.envs_per_collector}; pass a function that builds an environment"
        ),
    ),
    Rule(
        "environment-is-or-builds-one",
        "create_env_fn",
        lambda options: not _no_environments(options),
        lambda options: (
            f"{with_article(type(_no_environments(options)[0]).__name__)} is neither an environment nor a function "
            "that builds an environment"
        ),
    ),
    Rule("policy-acts", "policy", lambda options: not _cannot_act(options.policy), _say_cannot_act),
    Rule(
        "policy-factory-is-called",
        "policy_factory",
        lambda options: not _no_policies(options),
        lambda options: (
            f"{with_article(type(_no_policies(options)[0]).__name__)} cannot be called; pass a function that builds a "
            "policy"
        ),
    ),
    Rule(
        "one-policy",
        "policy_factory",
        not_both("policy", "policy_factory"),
        "cannot be used together with 'policy'; pass one of the two",
    ),
    Rule(
        "environment-error-is-known",
        "on_environment_error",
        lambda options: options.on_environment_error in list(OnEnvironmentError),
        lambda options: f"{options.on_environment_error!r} is unknown; use 'fail' or 'restart'",
    ),
    Rule(
        "environment-errors-have-one-judge",
        "on_environment_error",
        lambda options: options.on_environment_error == OnEnvironmentError.FAIL or options.failure_policy is None,
        "failure_policy also decides about exceptions in environments; leave on_environment_error or failure_policy "
        "out",
    ),
    Rule(
        "service-is-reachable",
        "policy",
        lambda options: getattr(options.policy, "service_backend", None) in (None, "ray"),
        "Ray actors on other nodes cannot reach an inference service in this process; build the service with "
        "service_backend='ray'",
    ),
    Rule(
        "service-answers-one-process",
        "policy",
        lambda options: not (is_service(options.policy) and options.has_processes),
        "a collector that uses an inference service has to be one process; use collector_class 'single'",
    ),
    *(_without_a_service(name) for name in _OF_WEIGHTS),
    Rule(
        "service-has-the-weights",
        "max_weight_update_interval",
        lambda options: not is_service(options.policy) or options.max_weight_update_interval < 0,
        _SERVICE_HAS_THEM,
    ),
)
