"""A RayCluster or Job of the fleet that another client suspended. Usually, this client is Kueue. Pure.

In a namespace with a LocalQueue named ``default``, Kueue labels every job, and suspends each job until the job has
quota. The operator itself never suspends a child.
"""

from __future__ import annotations

from collectorfleet_operator.decide.pod_owner import PodOwner

_ANEW = "then set spec.suspend of the fleet to true and back"


def why_suspended(child: PodOwner) -> str:
    """Return which client suspended the child, and what the user can do.

    Return an empty text if the child is not suspended.
    """
    if not child.is_suspended:
        return ""
    queue, named = child.queue_label, f"{child.kind} {child.name}"
    if queue:
        text = f"Kueue suspended {named}, because LocalQueue {queue} manages objects without a queue label"
        return f"{text}; rename LocalQueue {queue}, {_ANEW}"
    text = f"another client has set spec.suspend of {named} to true"
    return f"{text}; if Kueue sets manageJobsWithoutQueueName, exclude the namespace in Kueue's configuration, {_ANEW}"
