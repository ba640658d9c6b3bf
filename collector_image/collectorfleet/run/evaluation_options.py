"""Convert ``spec.evaluation`` into the argument ``evaluation`` of FleetCollector."""

from __future__ import annotations

import logging
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, Final

from torchrl.envs.utils import ExplorationType

from collectorfleet.actor.simulator.options import SimulatorProcess
from collectorfleet.errors import InvalidOption
from collectorfleet.evaluation.options import Evaluation, Video
from collectorfleet.run.derived_options import simulator_process
from collectorfleet.user_code import Factory
from collectorfleet_api.names import EVALUATOR_RESOURCE
from collectorfleet_api.packing.quantity import whole_cpus
from collectorfleet_api.v1alpha1 import CollectorFleetSpec
from collectorfleet_api.v1alpha1 import Evaluation as EvaluationSpec

log = logging.getLogger(__name__)

# Options that have to fit the evaluators' pods, so the manifest's values override the script's.
_OF_PODS: Final = ("replicas", "threads", "remote_config")
# No index is needed, because Ray shows an evaluator only its own GPUs.
_DEVICE: Final = "cuda"


def evaluation_of(spec: CollectorFleetSpec, *, on_gpus: bool = True) -> Evaluation | None:
    """Return the evaluation of the spec, or None if the spec has no evaluation.

    If ``on_gpus`` is False, the machine has no GPU for evaluators, and evaluators run on the CPU.
    """
    asked = spec.evaluation
    if asked is None:
        return None
    cpus, gpus = whole_cpus(asked.resources.cpu), round(asked.resources.gpu, 4) if on_gpus else 0.0  # Ray's resolution
    return Evaluation(
        replicas=asked.replicas,
        create_env_fn=_environment(spec),
        # These override the keyword arguments of an environment that a script names.
        create_env_kwargs=None if spec.environment is not None else asked.environment.kwargs or None,
        process=_process(spec),
        exploration_type=ExplorationType[asked.exploration_type.name],
        every_versions=asked.every_versions,
        every_seconds=asked.every_seconds,
        every_frames=asked.every_frames,
        episodes=asked.episodes,
        seeds=tuple(asked.seeds),
        timeout=timedelta(seconds=asked.timeout_seconds),
        stop_at_return=asked.stop_when.return_mean if asked.stop_when else None,
        keep_best=asked.keep_best,
        video=_video(asked),
        device=_DEVICE if gpus else None,
        threads=cpus,
        remote_config=_remote_config(cpus, gpus) if spec.has_ray else None,
    )


def evaluation_of_script(script_options: Evaluation | None, manifest_options: Evaluation | None) -> Evaluation | None:
    """Return the evaluation for a script's collector. It has the script's options, and uses the manifest's evaluators.

    Without ``script_options``, return the manifest's evaluation. Raises InvalidOption if the manifest has no
    evaluators.
    """
    if script_options is None or manifest_options is None:
        if script_options is not None:
            raise InvalidOption(
                "evaluation: the manifest has no spec.evaluation, so the fleet has no evaluators; add "
                "`evaluation: {}` to the manifest"
            )
        return manifest_options
    of_pods = {name: getattr(manifest_options, name) for name in _OF_PODS}
    ignored = [
        one.name
        for one in fields(manifest_options)
        if one.name not in (*_OF_PODS, "device") and getattr(manifest_options, one.name) != one.default
    ]
    if ignored:
        log.warning(
            "evaluation: the script passes its own Evaluation, so these fields of spec.evaluation are ignored: %s",
            ", ".join(ignored),
        )
    return replace(script_options, device=_device(script_options, manifest_options), **of_pods)


def _device(script_options: Evaluation, manifest_options: Evaluation) -> Any:
    """Return the evaluators' device.

    If the manifest's evaluators have a GPU, the script's device overrides the manifest's. Otherwise return None.
    """
    if manifest_options.device is not None:
        return manifest_options.device if script_options.device is None else script_options.device
    if script_options.device is not None:
        log.warning(
            "evaluation: the script's device %s is ignored, because evaluators have no GPU here; "
            "set spec.evaluation.resources.gpu to request a GPU",
            script_options.device,
        )
    return None


def _video(asked: EvaluationSpec) -> Video | None:
    video = asked.video
    return None if video is None else Video(video.episodes, video.every_evaluations, video.pixel_key)


def _environment(spec: CollectorFleetSpec) -> Factory | None:
    """Return the factory of the evaluators' environment, or None if evaluators use the environment of the script."""
    own, training = spec.evaluation.environment if spec.evaluation else None, spec.environment
    if own is not None and own.factory is not None:
        return Factory(own.factory, own.kwargs)
    if training is None:
        return None
    return Factory(training.factory, {**training.kwargs, **(own.kwargs if own else {})})


def _process(spec: CollectorFleetSpec) -> SimulatorProcess | None:
    """Return the evaluators' simulator process.

    Return None if the environment needs no such process, or if the script sets the environment.
    """
    own, training = spec.evaluation.environment if spec.evaluation else None, spec.environment
    if own is not None and (own.factory is not None or own.process is not None):
        return simulator_process(own.process)
    return None if training is None else simulator_process(training.process)


def _remote_config(cpus: int, gpus: float) -> dict[str, Any]:
    # Only the evaluators' pods have this resource, so Ray runs evaluators only there.
    return {"num_cpus": cpus, "num_gpus": gpus, "resources": {EVALUATOR_RESOURCE: 1}}
