"""The next actions for a fleet, in order, and the time of the next plan. Pure: a function of one observation.

One plan creates service account, Lease, the driver's Job and the collectors' objects, because the pods of driver and
collectors wait for each other. If a decision depends on time alone, the plan has a deadline, so no action waits for an
event that may not come. Plans are idempotent: after the actions of a plan, a second plan has no actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_never

from collectorfleet_api.conditions.outcome import Completed, Failed, Over, Pending, Running, Suspended
from collectorfleet_api.v1alpha1 import ConditionType, Reason, WhenFinished
from collectorfleet_operator.children.driver_job import JOB, next_driver_job, with_workers_of
from collectorfleet_operator.children.table import DRIVER_CHILD
from collectorfleet_operator.decide import queue
from collectorfleet_operator.decide.actions import Action, Create, Update
from collectorfleet_operator.decide.deadlines import until_next_deadline, until_next_deadline_after
from collectorfleet_operator.decide.deleted_cluster import GRACE_SECONDS, a_driver_uses_its_cluster, unused_pods
from collectorfleet_operator.decide.deleted_driver import deleted_driver
from collectorfleet_operator.decide.heads import pods_of_lost_head
from collectorfleet_operator.decide.hung import until_replaced
from collectorfleet_operator.decide.job import Job, read_job
from collectorfleet_operator.decide.leftover_containers import (
    ENDS_WITHIN,
    describe_leftovers,
    until_leftovers_are_deleted,
)
from collectorfleet_operator.decide.limits import recorded_condition
from collectorfleet_operator.decide.lost_nodes import pods_to_force_delete
from collectorfleet_operator.decide.outcome import first_line, is_recorded, outcome
from collectorfleet_operator.decide.pods_ready import report_pods_ready
from collectorfleet_operator.decide.quota import give_quota_back, leave_queue, request_quota
from collectorfleet_operator.decide.replacing import why_replaced
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.stopping import (
    changed_pods,
    ends_for_lost_head,
    has_spec_to_roll_out,
    has_stopped,
    only_workers_changed,
    restarts,
    stop_wanted,
    why_end,
)
from collectorfleet_operator.decide.upkeep import (
    as_admitted,
    delete,
    delete_pod,
    describe,
    maintain_children,
    with_propagated,
)
from collectorfleet_operator.objects import Object, metadata, name_of


@dataclass(frozen=True)
class Plan:
    """The next actions.

    ``again_after``: the time after which the plan may differ even without an event, or None if time changes nothing.
    """

    actions: tuple[Action, ...] = ()
    again_after: timedelta | None = None


def plan(seen: Situation) -> Plan:
    return Plan(tuple(_actions(seen)), again_after(seen))


def again_after(seen: Situation) -> timedelta | None:
    """Return only ``again_after`` of the plan. Once the actions of a plan are done, the next plan has no actions."""
    if seen.fleet.metadata.deletion_timestamp is not None:
        return None
    match outcome(seen):
        case Completed() | Failed() | Suspended() if not pods_to_force_delete(seen):
            return until_next_deadline_after(seen)
        case _:
            return until_next_deadline(seen)


def _actions(seen: Situation) -> Iterable[Action]:
    if seen.fleet.metadata.deletion_timestamp is not None:
        return ()
    found = outcome(seen)
    lost = tuple(_force_delete_lost_pods(seen))
    if lost:
        # One plan deletes the lost pods and replaces the driver. Once another head exists, the operator cannot tell
        # that the driver ended because of a lost head.
        return (*lost, *_replace_driver_of_lost_head(seen)) if isinstance(found, Running) else lost
    match found:
        case Completed() | Failed():
            return (*_clear_up(seen, found), *leave_queue(seen, f"the fleet {found.verb}"))
        case Suspended():
            why = "the fleet is suspended"
            return (*_free_the_cluster(seen, why), *leave_queue(seen, why))
        case Pending() | Running():
            return _advance_run(seen)
        case _:
            assert_never(found)


def _force_delete_lost_pods(seen: Situation) -> Iterator[Action]:
    """Delete pods that hang on lost nodes.

    If such a pod is a driver, also delete its Job, which would wait for the pod. If the run continues, create the
    driver's next Job at once.
    """
    for pod in pods_to_force_delete(seen):
        job = seen.job if seen.is_usable(seen.job) and pod.controller == seen.job.uid else None
        node = f"node {pod.node} is lost"
        if job is not None:
            yield delete(JOB, job.name, job.uid, node, force=True)
        yield delete_pod(pod, node, force=True)
        if job is not None and isinstance(outcome(seen), Running) and stop_wanted(seen) is None:
            yield _driver_again(seen, job, restarts(seen, job) + 1, "the driver, on another node")


def _clear_up(seen: Situation, end: Over) -> Iterator[Action]:
    """Delete the cluster of an ended run if the spec requests this. After the time to live, delete the run's objects.

    Some Jobs must be deleted earlier. Delete such a Job once the status has recorded the result of the run.
    """
    is_expired = _is_expired(seen)
    if is_expired or seen.fleet.spec.when_finished is WhenFinished.DELETE:
        yield from _free_the_cluster(seen, f"the fleet {end.verb}")
    if seen.is_usable(seen.job):
        if is_expired:
            yield delete(
                JOB,
                seen.job.name,
                seen.job.uid,
                f"the time of spec.ttlSecondsAfterFinished has passed since the fleet {end.verb}",
            )
        elif recorded_condition(seen, ConditionType.COMPLETED, Reason.DEADLINE_EXCEEDED):
            yield delete(JOB, seen.job.name, seen.job.uid, end.message)
        elif _would_run_again(seen, end, seen.job):
            why = "the fleet completed, and its Job would start another driver"
            yield delete(JOB, seen.job.name, seen.job.uid, why)
        else:
            yield from _end_what_outlives_the_run(seen, end, seen.job)


def _end_what_outlives_the_run(seen: Situation, end: Over, job: Job) -> Iterator[Action]:
    left, pod = until_leftovers_are_deleted(seen), seen.driver_pod
    if pod is None or left is None or left > timedelta(0):
        return
    why = f"{ENDS_WITHIN.seconds} s after the driver's end, {describe_leftovers(pod)}"
    if isinstance(end, Failed):
        # After the pod's deletion, the Job fails, too, and its status has the reason.
        yield delete_pod(pod, why)
    elif is_recorded(seen):
        # If only the pod were deleted, the Job would start another driver.
        yield delete(JOB, job.name, job.uid, why)


def _would_run_again(seen: Situation, end: Over, job: Job) -> bool:
    """Return whether the Job would restart a completed driver, because another container of its pod failed."""
    is_over = job.is_complete or job.is_failed
    return isinstance(end, Completed) and seen.driver_phase != "Succeeded" and not is_over


def _is_expired(seen: Situation) -> bool:
    before = seen.fleet.status.driver if seen.fleet.status else None
    return before is not None and before.expires is not None and before.expires <= seen.now


def _free_the_cluster(seen: Situation, why: str) -> Iterator[Action]:
    """Delete the objects that run collectors, once no driver needs the collectors for its last checkpoint."""
    if a_driver_uses_its_cluster(seen):
        return
    for cluster in seen.clusters:
        if seen.is_usable(cluster):
            yield delete(cluster.kind, cluster.name, cluster.uid, why)


def _advance_run(seen: Situation) -> Iterator[Action]:
    job = seen.job
    if not seen.is_usable(job):
        if seen.problems:
            why = "the fleet's spec cannot be run"
            yield from _free_the_cluster(seen, why)
            yield from leave_queue(seen, why)
        else:
            yield from _end_unused_pods(seen)
            yield from _start(seen)
        return
    again = tuple(_replace_driver_of_lost_head(seen))
    if again:
        yield from again
    elif why := _why_stop(seen) or why_replaced(seen, job):
        yield delete(JOB, job.name, job.uid, why)
    elif pod := deleted_driver(seen, job):
        why = f"its driver pod {pod.name} was deleted, and the Job would wait before it creates the next pod"
        yield delete(JOB, job.name, job.uid, why, force=True)
        yield _driver_again(seen, job, restarts(seen, job), "the driver, after its pod was deleted")
    elif has_spec_to_roll_out(seen) and only_workers_changed(seen):
        generation = seen.fleet.metadata.generation
        why = describe(JOB, job.name, f"{changed_pods(seen)} change to generation {generation}")
        changed = with_workers_of(seen.children[DRIVER_CHILD], seen.fleet)
        yield Update(JOB, changed, job.uid, why)
        # The same plan maintains the run, because the operator's own write triggers no reconcile.
        yield from _maintain_run(_with_driver(seen, changed))
    else:
        yield from _maintain_run(seen)


def _replace_driver_of_lost_head(seen: Situation) -> Iterator[Action]:
    """Replace the Job of a driver that ended only because its head was lost."""
    job, why = seen.job, _why_stop(seen)
    if seen.is_usable(job) and why and ends_for_lost_head(seen):
        yield delete(JOB, job.name, job.uid, why, force=True)
        yield _driver_again(seen, job, restarts(seen, job), "the driver, for the next Ray head")


def _driver_again(seen: Situation, job: Job, count: int, why: str) -> Create:
    """Return the action that creates the driver's next Job, with the spec of the present Job.

    This Job does not apply a spec change that the operator holds back.
    """
    made = next_driver_job(seen.present, job.generation, count, job.run_began_text)
    return Create(JOB, with_propagated(seen, as_admitted(seen, DRIVER_CHILD, made)), describe(JOB, name_of(made), why))


def _maintain_run(seen: Situation) -> Iterator[Action]:
    """Maintain the objects of a run whose driver continues."""
    yield from _end_what_outlives_its_driver(seen)
    yield from _end_what_hangs(seen)
    if seen.running is not None and queue.is_placed(seen):
        yield from _delete_pods_of_lost_head(seen)
        yield from _end_unused_pods(seen)
        # The report comes before the children: a refused write of a child ends the plan. Kueue would then evict a fleet
        # that collects.
        yield from report_pods_ready(seen)
        yield from maintain_children(seen)


def _end_what_outlives_its_driver(seen: Situation) -> Iterator[Action]:
    left, pod = until_leftovers_are_deleted(seen), seen.driver_pod
    if pod is not None and left is not None and left <= timedelta(0):
        why = f"its driver failed: {first_line(pod) or 'the driver left no message'}; {describe_leftovers(pod)}"
        yield delete_pod(pod, why)


def _end_what_hangs(seen: Situation) -> Iterator[Action]:
    left, pod = until_replaced(seen), seen.driver_pod
    if pod is not None and left is not None and left <= timedelta(0):
        deadline = seen.fleet.spec.driver.liveness_deadline_seconds
        yield delete_pod(pod, f"its driver hangs: its Lease was not renewed for {deadline} s")


def _delete_pods_of_lost_head(seen: Situation) -> Iterator[Action]:
    for pod in pods_of_lost_head(seen):
        yield delete_pod(pod, "it belongs to a Ray head that no longer exists", grace_seconds=GRACE_SECONDS)


def _end_unused_pods(seen: Situation) -> Iterator[Action]:
    for pod in unused_pods(seen):
        why = "its grace period is shortened, because its RayCluster or Job was deleted and no driver uses the pod"
        # No Event, because the operator only shortens a deletion that is already under way.
        yield delete_pod(pod, why, grace_seconds=GRACE_SECONDS, announced=False)


def _with_driver(seen: Situation, changed: Object) -> Situation:
    """Return the situation after the driver's Job has the metadata of ``changed`` and runs the stored spec."""
    job = seen.children[DRIVER_CHILD]
    after = {**job, "metadata": {**metadata(job), **metadata(changed)}}
    return replace(seen, running=seen.fleet, job=read_job(after), children={**seen.children, DRIVER_CHILD: after})


def _start(seen: Situation) -> Iterator[Action]:
    """Create the objects of a run. A fleet without a queue starts at once, and any other fleet when Kueue admits it."""
    match queue.state(seen):
        case queue.Unqueued():
            yield from leave_queue(seen, "the fleet has no queue any more")
            yield from maintain_children(seen)
        case queue.Admitted():
            yield from maintain_children(seen)
        case queue.Waiting():
            yield from _free_the_cluster(seen, "the fleet waits for quota")
            if seen.can_be_made and not seen.why_no_queues and not queue.in_use(seen):
                yield from request_quota(seen)
        case queue.Withdrawn(why):
            yield from _free_the_cluster(seen, why)
            if not queue.in_use(seen):
                yield from give_quota_back(seen, why)


def _why_stop(seen: Situation) -> str:
    """Return why the driver's Job is deleted now: the driver must end, or has ended on request.

    Return an empty text if the Job is kept.
    """
    stop = stop_wanted(seen)
    if stop is not None:
        why = why_end(seen, stop)
        return f"{stop.why}; {why}" if why else ""
    return "its driver ended after a batch, and the next driver resumes" if has_stopped(seen) else ""
