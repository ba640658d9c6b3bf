"""A driver's pod that other containers keep running once the driver has ended, as a log shipper or a mesh proxy does.

Its Job waits for the whole pod, which keeps its GPUs and its quota, and would never try again. A sidecar that is an
init container with restartPolicy Always ends with the driver by itself, and is none of these. Pure.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from collectorfleet_operator.children.driver_job import CONTAINER
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.situation import Situation, once

# Some see that the driver has ended, send what is left, and end: such a pod keeps its log.
ENDS_WITHIN: Final = timedelta(seconds=60)


def describe_leftovers(pod: Pod) -> str:
    """``container proxy keeps its pod (...)``; empty where the driver runs, or nothing outlives it."""
    names = pod.running_containers
    if CONTAINER not in pod.exits or not names:
        return ""
    keep = f"container {names[0]} keeps" if len(names) == 1 else f"containers {', '.join(names)} keep"
    return f"{keep} its pod (an init container with restartPolicy Always would end with the driver)"


@once
def until_leftovers_are_deleted(seen: Situation) -> timedelta | None:
    """Return how long the pod of a driver that ended is left to what runs on in it; None if nothing does."""
    pod = seen.driver_pod
    if pod is None or pod.is_terminating or not describe_leftovers(pod):
        return None
    ended = pod.ended.get(CONTAINER)
    return ended + ENDS_WITHIN - seen.now if ended is not None else timedelta(0)
