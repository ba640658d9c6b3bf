"""Decides when to delete a driver's pod that other containers keep running after the driver's end. Pure.

Such a container is, for example, a log shipper or a mesh proxy. The Job waits for the whole pod. So the pod would keep
its GPUs and its quota, and the Job would never retry. A sidecar that is an init container with restartPolicy Always
ends with the driver and is not affected.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from collectorfleet_operator.children.driver_job import CONTAINER
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.situation import Situation, cached_per_situation

# In this time, some of these containers notice the driver's end, send their remaining data and end. The operator then
# does not delete the pod and its log.
ENDS_WITHIN: Final = timedelta(seconds=60)


def describe_leftovers(pod: Pod) -> str:
    """Return text such as ``container proxy keeps the driver pod running (...)``.

    The text is empty if the driver runs, or if no other container runs.
    """
    names = pod.running_containers
    if CONTAINER not in pod.exits or not names:
        return ""
    keep, make = (
        (f"container {names[0]} keeps", "make it an init container")
        if len(names) == 1
        else (f"containers {', '.join(names)} keep", "make them init containers")
    )
    return f"{keep} the driver pod running (to avoid this, {make} with restartPolicy Always)"


@cached_per_situation
def until_leftovers_are_deleted(seen: Situation) -> timedelta | None:
    """Return the time until the pod of an ended driver is deleted, or None if no other container runs in the pod."""
    pod = seen.driver_pod
    if pod is None or pod.is_terminating or not describe_leftovers(pod):
        return None
    ended = pod.ended.get(CONTAINER)
    return ended + ENDS_WITHIN - seen.now if ended is not None else timedelta(0)
