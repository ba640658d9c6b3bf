"""A RayCluster or Job of the fleet that somebody else suspended, in most cases Kueue. Pure.

Kueue labels every job of a namespace that has a LocalQueue named ``default``, and suspends it until it has quota. The
operator sets ``spec.suspend`` of no child.
"""

from __future__ import annotations

from collectorfleet_api import names
from collectorfleet_operator.objects import Object, label, name_of

_ANEW = "then set spec.suspend of the fleet to true and back"


def why_suspended(child: Object) -> str:
    """Return who suspended the child, and what to do; empty if nobody did."""
    if not child["spec"].get("suspend"):
        return ""
    kind, queue = child["kind"], label(child, names.QUEUE_LABEL)
    if queue:
        text = (
            f"Kueue suspended {kind} {name_of(child)}, because LocalQueue {queue} takes objects without a queue label"
        )
        return f"{text}; rename LocalQueue {queue}, {_ANEW}"
    text = f"{kind} {name_of(child)} has spec.suspend, which the operator did not set"
    return f"{text}; if Kueue has manageJobsWithoutQueueName, leave the namespace out of it, {_ANEW}"
