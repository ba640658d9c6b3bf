"""A RayCluster or Job of the fleet that somebody else suspended, in most cases Kueue. Pure.

Kueue labels every job of a namespace that has a LocalQueue named ``default``, and suspends it until it has quota. The
operator sets ``spec.suspend`` of no child.
"""

from __future__ import annotations

from collectorfleet_operator.decide.pod_owner import PodOwner

_ANEW = "then set spec.suspend of the fleet to true and back"


def why_suspended(child: PodOwner) -> str:
    """Return who suspended the child, and what to do; empty if nobody did."""
    if not child.is_suspended:
        return ""
    queue, named = child.queue_label, f"{child.kind} {child.name}"
    if queue:
        text = f"Kueue suspended {named}, because LocalQueue {queue} takes objects without a queue label"
        return f"{text}; rename LocalQueue {queue}, {_ANEW}"
    text = f"{named} has spec.suspend, which the operator did not set"
    return f"{text}; if Kueue has manageJobsWithoutQueueName, leave the namespace out of it, {_ANEW}"
