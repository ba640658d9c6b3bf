"""Compute the resources of a local Ray, which replaces all pods of a cluster. Pure."""

from __future__ import annotations

from collections import Counter

from collectorfleet_api.names import COLLECTOR_RESOURCE, EVALUATOR_RESOURCE, LEARNER_RESOURCE, group_resource
from collectorfleet_api.packing.learner_pods import LearnerPods
from collectorfleet_api.packing.pods import pack_groups
from collectorfleet_api.packing.quantity import whole_cpus
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.v1alpha1 import CollectorFleetSpec


def ray_resources(spec: CollectorFleetSpec) -> dict[str, int]:
    """Return Ray's custom resources, by name.

    The resources are slots for collectors, groups, learners, replay actors and evaluators, and the custom resources of
    all worker pods. The spec must already be validated, so that packing succeeds.
    """
    found = Counter({COLLECTOR_RESOURCE: spec.collectors.replicas})
    found.update({group_resource(name): size for name, size in spec.collectors.group_sizes.items()})
    packed = pack_groups(spec.worker_groups)
    for name, packing in {} if isinstance(packed, Refusal) else packed.items():
        per_pod = spec.of_group(name).workers.custom_per_pod or {}
        found.update({resource: packing.pods * count for resource, count in per_pod.items()})
    learners = _learner_pods(spec)
    if learners is not None:
        found[LEARNER_RESOURCE] = learners.pods * learners.actors
    if spec.evaluation is not None:
        found[EVALUATOR_RESOURCE] = spec.evaluation.replicas
    return dict(found)


def ray_cpus(spec: CollectorFleetSpec) -> int:
    """Return the number of Ray's CPUs: one CPU for each collector, and the CPUs of learners and evaluators."""
    learners, evaluation = _learner_pods(spec), spec.evaluation
    of_learners = learners.pods * learners.ray_cpus if learners is not None else 0
    of_evaluators = evaluation.replicas * whole_cpus(evaluation.resources.cpu) if evaluation is not None else 0
    return spec.collectors.replicas + of_learners + of_evaluators


def _learner_pods(spec: CollectorFleetSpec) -> LearnerPods | None:
    pods = spec.learners.pods if spec.learners is not None else None
    return None if isinstance(pods, Refusal) else pods
