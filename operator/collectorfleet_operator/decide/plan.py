"""What to do next for a fleet, and when to look again. Pure: an observation in, a short list of steps out, in order.

Nothing waits for what it does not need: RayCluster, accounts, Lease and Job are made in one go, and pods wait for each
other by themselves. Nor does anything wait for an event that may not come: what time alone changes has a deadline.
Planning on the result of a plan gives no more steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from collectorfleet_api.conditions.outcome import Completed, Failed, Over, Pending, Running
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.hashes import changed_parts
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.table import CHILDREN, Child, News
from collectorfleet_operator.decide.actions import Action, Create, Delete, Update
from collectorfleet_operator.decide.deadlines import retry_after, until_next_deadline
from collectorfleet_operator.decide.observed import Observed
from collectorfleet_operator.decide.outcome import outcome
from collectorfleet_operator.decide.scaling import sized
from collectorfleet_operator.objects import Kind, Object, has_condition, name_of, uid_of


@dataclass(frozen=True)
class Plan:
    """``again_after``: when something is decided differently although nothing happens; None where nothing is."""

    actions: tuple[Action, ...] = ()
    again_after: timedelta | None = None


def plan(seen: Observed, now: datetime) -> Plan:
    if seen.fleet.metadata.deletion_timestamp is not None:
        return Plan()
    found = outcome(seen)
    match found:
        case Completed() | Failed():
            return Plan(tuple(_free_the_cluster(seen, found)), retry_after(seen))
        case Pending() | Running():
            return Plan(tuple(_go_on(seen)), until_next_deadline(seen, now))
        case _:
            assert_never(found)


def _free_the_cluster(seen: Observed, end: Over) -> Iterator[Action]:
    if seen.is_usable(seen.cluster):
        yield _delete(RAYCLUSTER, seen.cluster, f"the fleet {end.verb}")


def _go_on(seen: Observed) -> Iterator[Action]:
    job = seen.job
    if not seen.is_usable(job):
        if not seen.problems:
            yield from _tend(seen)
        return
    why = _why_replace(seen, job)
    if why:
        generation = seen.fleet.metadata.generation
        yield _delete(JOB, job, f"{why}, and generation {generation} of the spec is another try")
    elif seen.running is not None:
        yield from _tend(seen)


def _why_replace(seen: Observed, job: Object) -> str:
    """Why a changed spec takes the place of what runs; empty if it does not.

    A spec is held for the sake of progress and for nothing else: a failed run holds nothing but its log, and one that
    never delivered a batch may hang on what the change mends.
    """
    if not seen.spec_is_held or seen.problems:
        return ""
    if has_condition(job, "Failed"):
        return "it failed"
    return "" if seen.has_progress else "it has delivered no batch"


def _tend(seen: Observed) -> Iterator[Action]:
    """Make what is missing and put right what differs, by the spec that runs."""
    if _has_room(seen):
        for child in CHILDREN.values():
            yield from _keep(seen, child)
    else:
        yield from _make_room(seen)


def _has_room(seen: Observed) -> bool:
    """Whether RayCluster and Job of this run exist or can be made: nothing of an earlier run is in their way."""
    if seen.cluster is None:
        if seen.leftovers(seen.ray_pods, None):
            return False
    elif not seen.is_usable(seen.cluster) or changed_parts(seen.cluster, seen.present.spec):
        return False
    if seen.job is None:
        return not seen.leftovers(seen.driver_pods, None)
    return seen.is_usable(seen.job)


def _make_room(seen: Observed) -> Iterator[Action]:
    cluster = seen.cluster
    if seen.is_usable(cluster) and changed_parts(cluster, seen.present.spec):
        generation = seen.fleet.metadata.generation
        why = f"it was made from another spec; generation {generation} starts on a new one"
        yield _delete(RAYCLUSTER, cluster, why)


def _keep(seen: Observed, child: Child) -> Iterator[Action]:
    """Make a child that is missing, and put right one that differs."""
    desired, stored = child.build(seen.present), seen.children.get(child.kind)
    # One of a deleted fleet may be listed although it is gone, where its kind is not watched.
    if stored is None or (child.news is not News.WATCHED and not seen.is_ours(stored)):
        yield Create(child.kind, desired, _told(child.kind, desired, child.summary(desired)))
    elif seen.is_usable(stored):
        yield from _put_right(child, stored, sized(seen, stored, desired) if child.kind == RAYCLUSTER else desired)


def _put_right(child: Child, stored: Object, desired: Object) -> Iterator[Action]:
    why = child.difference(stored, desired)
    if why:
        yield Update(child.kind, desired, uid_of(stored), _told(child.kind, stored, why))


def _delete(kind: Kind, child: Object, why: str) -> Delete:
    return Delete(kind, name_of(child), uid_of(child), _told(kind, child, why))


def _told(kind: Kind, child: Object, what: str) -> str:
    return f"{kind} {name_of(child)}: {what}" if what else f"{kind} {name_of(child)}"
