"""Make the evaluators of a FleetCollector: a transport only for evaluators, and the evaluation thread."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.simulator.options import Simulator
from collectorfleet.evaluation.loop import EvaluationLoop
from collectorfleet.evaluation.options import Evaluation, Video
from collectorfleet.evaluation.state.evaluation import EvaluationPlan
from collectorfleet.evaluation.state.videos import RENDERING_SHARE, VideoPlan
from collectorfleet.fleet.collector_configs import constants_differ, simulator_of
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.weights import WeightsSource
from collectorfleet.gather.shared import Shared
from collectorfleet.recovery.failure import OnEnvironmentError
from collectorfleet.timeline.secrets import without_words
from collectorfleet.transport.distributed.launcher import LocalProcesses
from collectorfleet.transport.distributed.transport import DistributedTransport
from collectorfleet.transport.interface import FleetTransport, TransportKind
from collectorfleet.transport.ray.transport import RayTransport
from collectorfleet.transport.rpc.options import cuda_visible_devices
from collectorfleet.user_code import name_of
from collectorfleet_api.counts import counted

# Evaluators reserve no CPU. So no collector has to wait for a CPU because of an evaluator.
_DEFAULT_REMOTE: Final = {"num_cpus": 0}
# Options that evaluators have in common with collectors.
_OF_COLLECTORS: Final = ("max_frames_per_traj", "trust_policy")


def evaluation_loop(options: FleetOptions, source: WeightsSource, shared: Shared) -> EvaluationLoop | None:
    """Return the thread that evaluates the versions in ``shared``. Return None if the options have no evaluation."""
    evaluation = options.evaluation
    if evaluation is None:
        return None
    video = evaluation.video
    plan = EvaluationPlan(
        evaluation.replicas,
        evaluation.interval,
        evaluation.episodes,
        tuple(evaluation.seeds),
        evaluation.timeout.total_seconds(),
        options.first_request_timeout.total_seconds(),
        evaluation.stop_at_return,
        measure=_measure(options, evaluation),
        video=None if video is None else VideoPlan(video.episodes, video.every_evaluations),
    )
    loop = EvaluationLoop(
        shared,
        _transport(options, evaluation, source),
        plan,
        keeps_best=evaluation.keep_best,
        restarts_environments=options.on_environment_error == OnEnvironmentError.RESTART,
    )
    shared.on_publish = loop.published
    return loop


def _transport(options: FleetOptions, evaluation: Evaluation, source: WeightsSource) -> FleetTransport:
    """Return a transport for evaluators, of the same kind as the collectors' transport.

    The transport is separate so that a loss of an evaluator does not affect collectors.
    """
    config = _config(options, evaluation)
    policy = source.for_collectors()
    if options.transport == TransportKind.RPC:
        from collectorfleet.transport.rpc.transport import RpcTransport

        visible = None if _is_on_a_gpu(evaluation) else cuda_visible_devices("cpu")
        return RpcTransport(lambda _: config, lambda _: visible, options.tensorpipe_options, policy=policy, seed=0)
    if options.transport == TransportKind.TORCH_DISTRIBUTED:
        # If collectors run on other hosts, evaluators are still processes of the driver's machine.
        return DistributedTransport(lambda _: config, LocalProcesses(), policy=policy, seed=0)
    remote: Mapping[str, Any] = _DEFAULT_REMOTE if evaluation.remote_config is None else evaluation.remote_config
    return RayTransport(lambda _: config, lambda _: remote, policy=policy, seed=0)


def _config(options: FleetOptions, evaluation: Evaluation) -> CollectorConfig:
    """Return the configuration of all evaluators. It lacks the policy, because the transport sends the policy once."""
    own = evaluation.create_env_fn is not None
    given = options.keywords(0)
    theirs = {} if own else options.of_each("create_env_kwargs")[0] or {}
    return CollectorConfig(
        create_env=evaluation.create_env_fn if own else options.of_each("create_env_fn")[0],
        policy=None,
        frames_per_request=0,
        policy_factory=options.of_each("policy_factory")[0],
        create_env_kwargs={**theirs, **(evaluation.create_env_kwargs or {})},
        options={
            "exploration_type": evaluation.exploration_type,
            "device": evaluation.device,
            **{name: given.get(name) for name in _OF_COLLECTORS},
        },
        models=list(options.models or {}),
        # A collector with several processes reports no normalization constants.
        own_constants=constants_differ(options) or options.has_processes,
        threads=evaluation.threads,
        gpu_fraction=float((evaluation.remote_config or {}).get("num_gpus") or 0.0) if options.uses_ray else 0.0,
        plays_episodes=True,
        simulator=_simulator(options, evaluation),
        **({} if evaluation.video is None else _recording(evaluation.video, evaluation.timeout)),
    )


def _recording(video: Video, timeout: timedelta) -> dict[str, Any]:
    """Return the options for recording. The rendering time is divided equally among the ``video.episodes`` episodes."""
    seconds = timeout.total_seconds() * RENDERING_SHARE / video.episodes
    return {"pixel_key": video.pixel_key, "render_seconds": seconds}


def _simulator(options: FleetOptions, evaluation: Evaluation) -> Simulator | None:
    """Return the simulator that each evaluator starts. Return None if evaluators start no simulator."""
    theirs = None if evaluation.create_env_fn is not None else options.of_each("process")[0]
    process = evaluation.process or theirs
    return None if process is None else simulator_of(process, options)


def _measure(options: FleetOptions, evaluation: Evaluation) -> str:
    """Return a description of the evaluated environment and of the settings."""
    config = _config(options, evaluation)
    create = config.create_env
    kwargs = {**getattr(create, "kwargs", {}), **getattr(create, "keywords", {}), **config.create_env_kwargs}
    beside = ""
    if config.simulator is not None:
        program, *arguments = config.simulator.process.command
        # Checkpoints contain this description. So the description must not contain passwords from the arguments.
        beside = f", simulator {_plain([program, *without_words(arguments)])}"
    return (
        f"{counted(evaluation.episodes, 'episode')} of {name_of(create)} with {_plain(kwargs)}, "
        f"seeds {_plain(evaluation.seeds)}, "
        f"{evaluation.exploration_type}, at most {config.options.get('max_frames_per_traj')} frames{beside}"
    )


def _plain(value: object) -> str:
    """Return a text for ``value`` that is the same in every process.

    The repr of an object may differ between processes, because it may contain an address.
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_plain(inner)}" for key, inner in sorted(value.items(), key=str))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]"
    return repr(value) if isinstance(value, str | int | float | None) else type(value).__qualname__


def _is_on_a_gpu(evaluation: Evaluation) -> bool:
    return str(evaluation.device).startswith("cuda")
