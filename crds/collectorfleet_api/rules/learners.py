"""Problems and warnings about ``spec.learners``: names of policies, and GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from collectorfleet_api.counts import counted
from collectorfleet_api.packing.quantity import parse_quantity
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.templates import template_problems
from collectorfleet_api.v1alpha1.fleet import CollectorFleet
from collectorfleet_api.v1alpha1.learners import Learners

_PATH: Final = "spec.learners"
_FIELDS: Final = {"gpus": "gpus", "max_policies": "maxPolicies", "shards": "shards"}
# A rule in `combinations.learners` reports problems of this field, so `learner_problems` leaves them out.
_REPORTED_BY_COMBINATION: Final = "shards"
# Warn above this unused fraction of the pods' GPUs. Smaller fractions result from rounding and from shards with fewer
# places.
_NOTABLE_REST: Final = 0.2


def learner_problems(fleet: CollectorFleet) -> Iterator[Problem]:
    learners = fleet.spec.learners
    if learners is None:
        return
    yield from _twice(learners)
    for part, resources in (("resources", learners.resources), ("replay.resources", learners.replay.resources)):
        if not parse_quantity(resources.cpu):
            yield Problem(f"{_PATH}.{part}.cpu", "0 reserves no room in a pod; use a part of a CPU, such as 100m")
    found = learners.pods
    if isinstance(found, Refusal) and found.field != _REPORTED_BY_COMBINATION:
        yield Problem(f"{_PATH}.{_FIELDS.get(found.field, found.field)}", found.message)
    yield from template_problems(learners.template, f"{_PATH}.template")


def learner_advice(fleet: CollectorFleet) -> Iterator[Problem]:
    """Yield a warning if a part of the requested GPUs is in no pod, or is used by no policy."""
    learners = fleet.spec.learners
    if learners is None or isinstance(learners.pods, Refusal):
        return
    pods = learners.pods
    of_pods = pods.pods * pods.resources.gpus
    used = learners.places * pods.packing.gpu_per_policy
    if of_pods - used > _NOTABLE_REST * of_pods or learners.gpus - of_pods >= 1:
        yield Problem(
            f"{_PATH}.gpus",
            f"of {learners.gpus:g} GPU, {counted(learners.places, 'policy', 'policies')} in "
            f"{counted(len(pods.packing.slots), 'shard')} {'uses' if learners.places == 1 else 'use'} {used:g} GPU "
            f"({pods.packing.gpu_per_policy:g} for each policy), and the learner pods request {of_pods} GPU",
        )


def _twice(learners: Learners) -> Iterator[Problem]:
    ids: set[str] = set()
    modules: dict[str, str] = {}
    for index, policy in enumerate(learners.policies):
        path = f"{_PATH}.policies[{index}]"
        if policy.id in ids:
            yield Problem(f"{path}.id", f"{policy.id} appears twice; name each policy once")
        elif policy.path in modules:
            yield Problem(
                f"{path}.module",
                f"{policy.path} is also the module of policy {modules[policy.path]}; give each policy a module of its "
                "own",
            )
        ids.add(policy.id)
        modules.setdefault(policy.path, policy.id)
