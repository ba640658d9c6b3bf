"""From ``spec.evaluation`` to the argument ``evaluation`` of FleetCollector."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from torchrl.envs.utils import ExplorationType

from collectorfleet.errors import InvalidOption
from collectorfleet.evaluation.options import Evaluation
from collectorfleet.user_code import Factory
from collectorfleet_api.names import EVALUATOR_RESOURCE
from collectorfleet_api.packing.quantity import whole_cpus
from collectorfleet_api.v1alpha1 import CollectorFleetSpec


def evaluation_of(spec: CollectorFleetSpec) -> Evaluation | None:
    """Return the evaluation that the spec asks for; None: there is none."""
    asked = spec.evaluation
    if asked is None:
        return None
    cpus = whole_cpus(asked.resources.cpu)
    return Evaluation(
        replicas=asked.replicas,
        create_env_fn=_environment(spec),
        exploration_type=ExplorationType[asked.exploration_type.name],
        every_versions=asked.every_versions,
        every_seconds=asked.every_seconds,
        every_frames=asked.every_frames,
        episodes=asked.episodes,
        seeds=tuple(asked.seeds),
        timeout=timedelta(seconds=asked.timeout_seconds),
        stop_at_return=asked.stop_when.return_mean if asked.stop_when else None,
        keep_best=asked.keep_best,
        threads=cpus,
        remote_config=_remote_config(cpus) if spec.has_ray else None,
    )


def evaluation_of_script(scripts: Evaluation | None, manifests: Evaluation | None) -> Evaluation | None:
    """Return what a script's collector evaluates: as the script says, on the pods that the manifest has for it.

    Raises InvalidOption: there are no such pods.
    """
    if scripts is None or manifests is None:
        if scripts is not None:
            raise InvalidOption(
                "evaluation: the manifest has no spec.evaluation, and so there are no pods for evaluators; add "
                "`evaluation: {}` to it"
            )
        return manifests
    return replace(
        scripts, replicas=manifests.replicas, threads=manifests.threads, remote_config=manifests.remote_config
    )


def _environment(spec: CollectorFleetSpec) -> Factory | None:
    """Return the factory of the evaluators' environment; None: the collectors' environment, which a script names."""
    own, training = spec.evaluation.environment if spec.evaluation else None, spec.environment
    if own is not None and own.factory is not None:
        return Factory(own.factory, own.kwargs)
    if training is None:
        return None
    return Factory(training.factory, {**training.kwargs, **(own.kwargs if own else {})})


def _remote_config(cpus: int) -> dict[str, Any]:
    # Keeps evaluators on their own pods, and collectors off these.
    return {"num_cpus": cpus, "num_gpus": 0, "resources": {EVALUATOR_RESOURCE: 1}}
