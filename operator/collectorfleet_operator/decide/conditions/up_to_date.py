"""The condition ``UpToDate``: whether the fleet runs its stored spec, and otherwise what to do. Pure."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.conditions.condition import condition
from collectorfleet_api.conditions.outcome import Over
from collectorfleet_api.names import EVALUATOR_GROUP
from collectorfleet_api.v1alpha1 import Condition, ConditionType, Reason
from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.replacing import why_replaced
from collectorfleet_operator.decide.retry import runs_another_spec
from collectorfleet_operator.decide.rolling import outdated_pods
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.stopping import (
    changed_pods,
    has_spec_to_roll_out,
    only_workers_changed,
    why_rollout_waits,
)

_TYPE: Final = ConditionType.UP_TO_DATE


def up_to_date(seen: Situation) -> Condition:
    """Return the condition ``UpToDate`` of a run that is under way or about to start."""
    problems = "; ".join(seen.problems)
    if seen.job is not None and seen.spec_is_held:
        if problems:
            text = f"{problems}; the driver continues with {_generation(seen.job)}"
            return condition(_TYPE, False, Reason.INVALID_SPEC, text)
        return _changed(seen, seen.job)
    if problems:
        return condition(_TYPE, False, Reason.INVALID_SPEC, problems)
    if not seen.is_usable(seen.job):
        text = f"generation {seen.fleet.metadata.generation} of the spec does not run yet"
        return condition(_TYPE, False, Reason.PENDING, text)
    old = _replaced(seen)
    if old:
        text = f"{old} still have to be replaced by pods of the changed template"
        return condition(_TYPE, False, Reason.UPDATING, text)
    return _true(seen)


def up_to_date_suspended(seen: Situation, reason: Reason) -> Condition:
    """Return the condition ``UpToDate`` of a suspended fleet."""
    if seen.problems:
        return condition(_TYPE, False, Reason.INVALID_SPEC, "; ".join(seen.problems))
    text = f"generation {seen.fleet.metadata.generation} of the spec does not run, because the fleet is suspended"
    return condition(_TYPE, False, reason, text)


def up_to_date_after(seen: Situation, end: Over) -> Condition:
    """Return the condition ``UpToDate`` of a run that is over."""
    is_another = seen.spec_is_held if seen.job is not None else runs_another_spec(seen)
    if not is_another:
        return _true(seen)
    text = f"generation {seen.fleet.metadata.generation} of the spec does not run, because the fleet {end.verb}"
    return condition(_TYPE, False, end.reason, "; ".join([text, *seen.problems]))


def _replaced(seen: Situation) -> str:
    """Return the outdated pods in words: ``1 of 4 worker pods``, or an empty text if there are none."""
    old = outdated_pods(seen)
    counts = (
        (sum(pod.group != EVALUATOR_GROUP for pod in old), len(seen.workers), "worker"),
        (sum(pod.group == EVALUATOR_GROUP for pod in old), len(seen.evaluators), "evaluator"),
    )
    return " and ".join(f"{count} of {of} {what} pods" for count, of, what in counts if count)


def _true(seen: Situation) -> Condition:
    text = f"the fleet runs generation {seen.fleet.metadata.generation} of the spec"
    return condition(_TYPE, True, Reason.UP_TO_DATE, text)


def _changed(seen: Situation, job: Job) -> Condition:
    """Return the condition ``UpToDate`` of a driver that runs another spec than the valid stored spec."""
    generation = seen.fleet.metadata.generation
    replaced = why_replaced(seen, job)
    if replaced:
        # The Job's deletion becomes visible only after this status is written.
        return condition(_TYPE, False, Reason.UPDATING, f"Job {job.name} is replaced: {replaced}")
    runs = f"the driver runs {_generation(job)}"
    if not has_spec_to_roll_out(seen):
        text = (
            f"{runs}, and generation {generation} waits (spec.updateStrategy is OnDelete): "
            f"delete Job {job.name} to restart with the changed spec"
        )
        return condition(_TYPE, False, Reason.RESTART_NEEDED, text)
    held = why_rollout_waits(seen)
    if held:
        text = (
            f"{runs}; a restart with generation {generation} would lose the progress of the training, "
            f"because {held}; to restart anyway, delete Job {job.name}"
        )
        return condition(_TYPE, False, Reason.CHECKPOINT_NEEDED, text)
    if only_workers_changed(seen):
        text = f"{changed_pods(seen)} are about to be replaced by pods of generation {generation}"
        return condition(_TYPE, False, Reason.UPDATING, text)
    text = f"{runs}; this driver ends after its current batch, and the next driver runs generation {generation}"
    return condition(_TYPE, False, Reason.UPDATING, text)


def _generation(job: Job) -> str:
    return f"generation {job.generation} of the spec"
