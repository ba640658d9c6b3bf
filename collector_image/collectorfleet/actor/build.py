"""Build TorchRL's collector, with the user's environment and policy, from the configuration of a collector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import EnvBase

from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.early_end import EarlyEnd
from collectorfleet.actor.evaluation.player import EpisodePlayer
from collectorfleet.actor.factories import EnvironmentFactory, PolicyFactory, environment_in_process, policy_in_process
from collectorfleet.actor.normalization.environment import EnvironmentNormalization
from collectorfleet.actor.normalization.search import build_without_running_statistics
from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.rollout.collector import FastCollector
from collectorfleet.actor.rollout.exact import FastLoopUnsupported
from collectorfleet.actor.rollouts import RolloutRunner
from collectorfleet.actor.script_classes import make_importable
from collectorfleet.actor.seeds import ALONE, Seeds
from collectorfleet.actor.stamp import SharedVersion, stamped
from collectorfleet.actor.workers import prepare_workers, seeding
from collectorfleet.codec.settings import move_settings
from collectorfleet.messages import POLICY
from collectorfleet.torchrl_private.collectors import allow_no_weights
from collectorfleet.torchrl_private.transforms import forget_steps_at_full_resets
from collectorfleet.user_code import takes

# The name of an optional parameter of the user's environment factory.
_INDEX: Final = "collector_index"


def build(config: CollectorConfig, incarnation: int, seeds: Seeds = ALONE) -> RolloutRunner:
    """Build environment, policy and collector. Blocks while the user's code runs. Raises the errors of that code.

    ``seeds`` are the seeds of this process. The processes that this process starts for environments get seeds derived
    from ``seeds``.
    """
    options = dict(config.options)
    shared = SharedVersion.create() if config.mixes_versions else None
    with calling(Origin.ENVIRONMENT):
        env = environments(config, shared, seeds)
    policy = config.policy
    if config.policy_factory is not None and not config.has_processes:
        policy = PolicyFactory(config.policy_factory)()
    elif config.policy_factory is not None:
        options |= _weights_for_factory(policy_in_process(PolicyFactory(config.policy_factory)))
    device = options.get("policy_device") or options.get("device")
    if isinstance(policy, nn.Module) and device is not None and not config.has_processes:
        move_settings(policy, device)  # TorchRL's collector moves only parameters and buffers
    if isinstance(policy, nn.Module) and options.get("compile_policy"):
        make_importable(policy)
    cutter = EarlyEnd() if config.cut_short else None
    if cutter is not None and not config.has_processes:
        options["interruptor"] = cutter
    if not config.has_processes:
        options["return_same_td"] = True
    # Read the initial statistics before the collector's constructor resets the environment. Otherwise the fleet's
    # statistics would lack this reset.
    normalization = None if config.has_processes else normalization_of(env, config)
    if not config.has_processes:
        # At this point the environment is built, but the environment's worker processes have not started.
        prepare_workers(env, seeds, config.parameters)
    collector = _class_of(config)(env, policy, frames_per_batch=config.frames_per_request, total_frames=-1, **options)
    if shared is not None:
        shared.remove_name()  # the processes of the collector have built their environments
    if isinstance(collector, FastCollector) and config.rollout is RolloutLoop.FAST:
        collector.must_be_fast = True
        if collector.inexact:
            raise FastLoopUnsupported(f"{collector.inexact}; set collection.rollout to Auto to use TorchRL's loop")
    if isinstance(collector, Collector):
        allow_no_weights(collector)
    return RolloutRunner(config, collector, incarnation, cutter, shared, normalization)


def build_player(config: CollectorConfig, seeds: Seeds = ALONE) -> EpisodePlayer:
    """Build environment and policy of an evaluator. Blocks while the user's code runs.

    Raises the errors of that code.
    """
    with calling(Origin.ENVIRONMENT):
        env = environments(config, None, seeds)
        prepare_workers(env, seeds)
    return EpisodePlayer(config, env)


def _class_of(config: CollectorConfig) -> Callable[..., Any]:
    if config.rollout is RolloutLoop.TORCHRL:
        return config.collector_class
    if config.collector_class is Collector:
        return FastCollector
    if config.rollout is RolloutLoop.FAST:
        raise FastLoopUnsupported(
            f"{config.collector_class.__name__} has no fast loop; set collectors.class to Single, or "
            "collection.rollout to Auto"
        )
    return config.collector_class


def environments(config: CollectorConfig, shared: SharedVersion | None, seeds: Seeds) -> Any:
    """Return the environment. For a collector with several processes, return a list with a factory for each process."""
    forget_steps_at_full_resets()
    create = config.create_env
    if not isinstance(create, EnvBase):
        create = partial(EnvironmentFactory(create), **_arguments(create, config.create_env_kwargs, seeds.collector))
    if config.has_processes:
        create = partial(build_without_running_statistics, create)
        any_time = config.has_processes_that_never_pause
        maker = partial(stamped, create, shared, any_time=any_time) if shared is not None else create
        return [environment_in_process(seeding(maker, seeds.of_worker(number))) for number in range(config.workers)]
    env = create if isinstance(create, EnvBase) else create()
    return stamped(env, shared, any_time=False) if shared is not None else env


def _arguments(create: Callable[..., Any], given: Mapping[str, Any], collector: int) -> dict[str, Any]:
    """Return the user's arguments for a factory, with the collector's index if the factory takes an index."""
    own = {} if _INDEX in given or not takes(create, _INDEX) else {_INDEX: collector}
    return {**given, **own}


def normalization_of(env: EnvBase, config: CollectorConfig) -> EnvironmentNormalization | None:
    """Return the normalization of the environment. All collectors of the fleet share this normalization.

    Raises:
        InvalidOption: the fleet cannot share this normalization.
    """
    with calling(Origin.ENVIRONMENT):
        return EnvironmentNormalization.of(env, constants=not config.own_constants)


def _weights_for_factory(factory: Callable[[], Any]) -> dict[str, Any]:
    # A collector with several processes needs a scheme that sends weights. Without the scheme, the collector would
    # never update the weights in its processes.
    from torchrl.weight_update import SharedMemWeightSyncScheme

    return {"policy_factory": factory, "weight_sync_schemes": {POLICY: SharedMemWeightSyncScheme()}}
