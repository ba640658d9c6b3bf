"""What to do next for a fleet, and when to look again. Pure: an observation in, a short list of steps out, in order.

Nothing waits for what it does not need: accounts, Lease, the driver's Job and what holds collectors are made in one go,
and pods wait for each other by themselves. Nor does anything wait for an event that may not come: what time alone
changes has a deadline.
Planning on the result of a plan gives no more steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, assert_never

from collectorfleet_api import names
from collectorfleet_api.conditions.outcome import Completed, Failed, Over, Pending, Running, Suspended
from collectorfleet_api.v1alpha1 import ConditionType, Reason, WhenFinished
from collectorfleet_operator.children.built import as_it_was_built
from collectorfleet_operator.children.driver_job import JOB, has_taken_up_workers, started_again, with_workers_of
from collectorfleet_operator.children.group_sizes import sized_in_place
from collectorfleet_operator.children.hashes import changed_cluster_parts, is_group
from collectorfleet_operator.children.placement import placed
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.propagation import propagated
from collectorfleet_operator.children.table import (
    CHILDREN,
    COLLECTORS_CHILD,
    DRIVER_CHILD,
    RAYCLUSTER_CHILD,
    WORKLOAD_CHILD,
    Child,
    News,
)
from collectorfleet_operator.children.token_secret import SECRET, token_secret
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide import queue
from collectorfleet_operator.decide.actions import Action, Create, CreateSecret, Delete, SetStatus, Update
from collectorfleet_operator.decide.deadlines import until_next_deadline, until_next_deadline_after
from collectorfleet_operator.decide.limits import code_is_newer, recorded
from collectorfleet_operator.decide.lost_nodes import given_up, is_marked, node_of
from collectorfleet_operator.decide.observed import Observed
from collectorfleet_operator.decide.outcome import outcome
from collectorfleet_operator.decide.scaling import limited, sized
from collectorfleet_operator.decide.stopping import has_stopped, is_rolled, only_workers_changed, stop_wanted, why_end
from collectorfleet_operator.objects import Kind, Object, controller_uid, has_condition, name_of, uid_of

_HOLD_COLLECTORS: Final = (RAYCLUSTER_CHILD, COLLECTORS_CHILD)


@dataclass(frozen=True)
class Plan:
    """``again_after``: when something is decided differently although nothing happens; None where nothing is."""

    actions: tuple[Action, ...] = ()
    again_after: timedelta | None = None


def plan(seen: Observed, now: datetime) -> Plan:
    return Plan(tuple(_actions(seen, now)), again_after(seen, now))


def again_after(seen: Observed, now: datetime) -> timedelta | None:
    """The plan's, alone: once its actions are done, planning anew would say no more than this."""
    if seen.fleet.metadata.deletion_timestamp is not None:
        return None
    match outcome(seen, now):
        case Completed() | Failed() | Suspended() if not given_up(seen, now):
            return until_next_deadline_after(seen, now)
        case _:
            return until_next_deadline(seen, now)


def _actions(seen: Observed, now: datetime) -> Iterable[Action]:
    if seen.fleet.metadata.deletion_timestamp is not None:
        return ()
    lost = tuple(_give_up(seen, now))
    if lost:
        return lost
    found = outcome(seen, now)
    match found:
        case Completed() | Failed():
            return (*_clear_up(seen, found, now), *_leave_the_queue(seen, f"the fleet {found.verb}"))
        case Suspended():
            why = "the fleet is suspended"
            return (*_free_the_cluster(seen, why), *_leave_the_queue(seen, why))
        case Pending() | Running():
            return _go_on(seen, now)
        case _:
            assert_never(found)


def _give_up(seen: Observed, now: datetime) -> Iterator[Action]:
    """Pods that hang on nodes that are lost; a driver's Job with it, which would wait for its pod for ever."""
    for pod in given_up(seen, now):
        job = seen.job if seen.is_usable(seen.job) and controller_uid(pod) == uid_of(seen.job) else None
        node = f"node {node_of(pod)} is lost"
        if job is not None:
            yield Delete(JOB, name_of(job), uid_of(job), _told(JOB, job, node), at_once=True)
        yield Delete(POD, name_of(pod), uid_of(pod), _told(POD, pod, node), at_once=True)
        if job is not None and isinstance(outcome(seen, now), Running) and stop_wanted(seen, now) is None:
            # As it ran: a changed spec that is held stays so.
            again = _given(seen, _as_admitted(seen, DRIVER_CHILD, started_again(seen.present, job)))
            yield Create(JOB, again, _told(JOB, again, "the driver, on another node"))


def _clear_up(seen: Observed, end: Over, now: datetime) -> Iterator[Action]:
    """What goes at the end, and what only later; a Job goes once the status remembers how it ended."""
    is_expired = _is_expired(seen, now)
    if is_expired or seen.fleet.spec.when_finished is WhenFinished.DELETE:
        yield from _free_the_cluster(seen, f"the fleet {end.verb}")
    if seen.is_usable(seen.job):
        if is_expired:
            yield _delete(JOB, seen.job, f"spec.ttlSecondsAfterFinished is over since the fleet {end.verb}")
        elif recorded(seen, ConditionType.COMPLETED, Reason.DEADLINE_EXCEEDED):
            yield _delete(JOB, seen.job, end.message)


def _is_expired(seen: Observed, now: datetime) -> bool:
    before = seen.fleet.status.driver if seen.fleet.status else None
    return before is not None and before.expires is not None and before.expires <= now


def _free_the_cluster(seen: Observed, why: str) -> Iterator[Action]:
    for cluster in seen.clusters:
        if seen.is_usable(cluster):
            yield _delete(_kind_of(cluster), cluster, why)


def _kind_of(cluster: Object) -> Kind:
    return next(one.kind for one in _HOLD_COLLECTORS if one.kind.kind == cluster["kind"])


def _go_on(seen: Observed, now: datetime) -> Iterator[Action]:
    job = seen.job
    if not seen.is_usable(job):
        if seen.problems:
            yield from _leave_the_queue(seen, "the fleet's spec cannot be run")
        else:
            yield from _start(seen, now)
        return
    why = _why_stop(seen, now) or _why_replace(seen, job)
    if why:
        yield _delete(JOB, job, why)
    elif is_rolled(seen) and only_workers_changed(seen):
        generation = seen.fleet.metadata.generation
        told = _told(JOB, job, f"worker pods are of generation {generation} from now on")
        yield Update(JOB, with_workers_of(job, seen.fleet), uid_of(job), told)
    elif seen.running is not None and queue.is_placed(seen):
        yield from _tend(seen)
        yield from _tell_ready(seen, now)


def _start(seen: Observed, now: datetime) -> Iterator[Action]:
    """Make what a run consists of, at once or when there is quota for all of it."""
    match queue.state(seen):
        case queue.Unqueued():
            yield from _leave_the_queue(seen, "the fleet has no queue any more")
            yield from _tend(seen)
        case queue.Admitted():
            yield from _tend(seen)
        case queue.Waiting():
            yield from _free_the_cluster(seen, "the fleet waits for quota")
            if seen.can_be_made and not seen.why_no_queues and not queue.in_use(seen):
                yield from _ask_for_quota(seen)
        case queue.Withdrawn(why):
            yield from _free_the_cluster(seen, why)
            if not queue.in_use(seen):
                yield from _give_quota_back(seen, why, now)


def _ask_for_quota(seen: Observed) -> Iterator[Action]:
    wanted, child = queue.asked_for(seen), WORKLOAD_CHILD
    if wanted is None:
        return
    if seen.workload is None:
        yield Create(WORKLOAD, _given(seen, wanted), _told(WORKLOAD, wanted, child.summary(wanted)))
    elif seen.is_usable(seen.workload) and not queue.is_reserved(seen.workload):
        yield from _put_right(child, seen.workload, _given(seen, wanted))


def _give_quota_back(seen: Observed, why: str, now: datetime) -> Iterator[Action]:
    """Nothing uses it any more: an evicted Workload goes back into the queue, any other is asked for anew."""
    found = seen.workload
    if not seen.is_usable(found):
        return
    if has_condition(found, "Evicted"):
        yield SetStatus(
            WORKLOAD, found, queue.status_given_back(found, now), _told(WORKLOAD, found, "gives its quota back")
        )
    else:
        yield _delete(WORKLOAD, found, why)


def _leave_the_queue(seen: Observed, why: str) -> Iterator[Action]:
    """Quota is held for as long as there are pods that it is for."""
    if seen.is_usable(seen.workload) and not queue.in_use(seen):
        yield _delete(WORKLOAD, seen.workload, why)


def _tell_ready(seen: Observed, now: datetime) -> Iterator[Action]:
    """Kueue may be told to take back what is not ready in time."""
    found = seen.workload
    if not seen.is_usable(found) or queue.says_ready(found) or not has_condition(found, "Admitted"):
        return
    if queue.is_everything_ready(seen):
        yield SetStatus(WORKLOAD, found, queue.status_ready(found, now), _told(WORKLOAD, found, "all pods are ready"))


def _why_stop(seen: Observed, now: datetime) -> str:
    """Why a driver that is to end, or that ended because it was asked to, goes now; empty if it does not."""
    stop = stop_wanted(seen, now)
    if stop is not None:
        why = why_end(seen, stop, now)
        return f"{stop.why}; {why}" if why else ""
    return "its driver ended at the end of a batch, and is to go on" if has_stopped(seen) else ""


def _why_replace(seen: Observed, job: Object) -> str:
    """Why a changed spec takes the place of what runs; empty if it does not.

    A spec is held for the sake of progress and for nothing else: a failed run holds nothing but its log, and one that
    never delivered a batch may hang on what the change mends.
    """
    if seen.problems:
        return ""
    if has_condition(job, "Failed") and code_is_newer(seen):
        return "it failed, and the ConfigMap of its code has changed since it began"
    if not seen.spec_is_held:
        return ""
    again = f"and generation {seen.fleet.metadata.generation} of the spec is another try"
    if has_condition(job, "Failed"):
        return f"it failed, {again}"
    return "" if seen.has_progress else f"it has delivered no batch, {again}"


def _tend(seen: Observed) -> Iterator[Action]:
    """Make what is missing and put right what differs, by the spec that runs."""
    if not seen.can_be_made:
        return
    if _has_room(seen):
        yield from _share_a_token(seen)
        for child in CHILDREN:
            if child is not WORKLOAD_CHILD:
                yield from _keep(seen, child)
    else:
        yield from _make_room(seen)


def _share_a_token(seen: Observed) -> Iterator[Action]:
    """Before the pods of a fleet without Ray, which wait for it."""
    if seen.cluster is None and not seen.present.spec.has_ray:
        made = _given(seen, token_secret(seen.present))
        yield CreateSecret(SECRET, made, names.HOSTS_TOKEN_KEY, _told(SECRET, made, "what its pods know each other by"))


def _has_room(seen: Observed) -> bool:
    """Whether what this run consists of exists or can be made: nothing of an earlier run is in its way."""
    if any(seen.is_ours(other) for other in _of_the_other_launcher(seen)):
        return False
    if seen.cluster is None:
        if seen.leftovers(seen.cluster_pods, None):
            return False
    elif not seen.is_usable(seen.cluster) or _is_of_another_run(seen, seen.cluster):
        return False
    if seen.job is None:
        # One on a lost node may hang for long: the Lease keeps it from what is not its any more.
        return not [pod for pod in seen.leftovers(seen.driver_pods, None) if not is_marked(pod)]
    return seen.is_usable(seen.job)


def _is_of_another_run(seen: Observed, cluster: Object) -> bool:
    """Whether the cluster has to be made anew; Ray's worker groups alone change in place where the driver goes on."""
    changed = changed_cluster_parts(cluster, seen.present.spec)
    if seen.present.spec.has_ray and seen.is_usable(seen.job) and has_taken_up_workers(seen.job):
        changed = {part for part in changed if not is_group(part)}
    return bool(changed)


def _make_room(seen: Observed) -> Iterator[Action]:
    generation = seen.fleet.metadata.generation
    why = f"it was made from another spec; generation {generation} starts on a new one"
    for cluster in seen.clusters:
        if seen.is_usable(cluster) and (cluster is not seen.cluster or _is_of_another_run(seen, cluster)):
            yield _delete(_kind_of(cluster), cluster, why)


def _of_the_other_launcher(seen: Observed) -> list[Object]:
    """What held collectors before the launcher was another one."""
    return [cluster for cluster in seen.clusters if cluster is not seen.cluster]


def _keep(seen: Observed, child: Child) -> Iterator[Action]:
    """Make a child that is missing, put right one that differs, and delete one that is not asked for."""
    built, stored = child.build(seen.present), seen.children.get(child)
    if built is None:
        if seen.is_usable(stored):
            yield _delete(child.kind, stored, "the fleet asks for none")
        return
    desired = _as_admitted(seen, child, built)
    # One of a deleted fleet may be listed although it is gone, where its kind is not watched.
    if stored is None or (child.news is not News.WATCHED and not seen.is_ours(stored)):
        yield Create(child.kind, _given(seen, desired), _told(child.kind, desired, child.summary(desired)))
    elif seen.is_usable(stored):
        if child is RAYCLUSTER_CHILD:
            desired = sized(seen, stored, as_it_was_built(stored, desired))
        desired = _given(seen, desired)
        if child is COLLECTORS_CHILD:
            # Last, because nothing but its size can be changed.
            desired = sized_in_place(stored, sized(seen, stored, desired))
        yield from _put_right(child, stored, desired)


def _given(seen: Observed, desired: Object) -> Object:
    """With what the fleet's metadata has for all of its children: no part of what a child is made from."""
    return propagated(desired, seen.propagation.of(seen.fleet.metadata))


def _as_admitted(seen: Observed, child: Child, desired: Object) -> Object:
    """``desired`` where Kueue lets it run, and no larger than it lets it be."""
    name, found = queue.queue_of_run(seen), queue.state(seen)
    if not name:
        return desired
    if not isinstance(found, queue.Admitted):
        # A driver that is made again while Kueue is away is still its queue's.
        return placed(desired, name, {})
    within = placed(desired, name, found.placements)
    return limited(within, found.counts) if child in _HOLD_COLLECTORS else within


def _put_right(child: Child, stored: Object, desired: Object) -> Iterator[Action]:
    why = child.difference(stored, desired)
    if why:
        yield Update(child.kind, desired, uid_of(stored), _told(child.kind, stored, why))


def _delete(kind: Kind, child: Object, why: str) -> Delete:
    return Delete(kind, name_of(child), uid_of(child), _told(kind, child, why))


def _told(kind: Kind, child: Object, what: str) -> str:
    return f"{kind} {name_of(child)}: {what}" if what else f"{kind} {name_of(child)}"
