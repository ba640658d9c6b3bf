"""Replaces the driver's Job after the driver's pod was deleted or evicted. Pure.

The Job controller creates the next pod only after a pause. The pause begins at 10 s and doubles with each pod that
failed in the last minutes. Failures that the Job's failure policy ignores also count. A new Job creates its pod at
once.
"""

from __future__ import annotations

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import CONTAINER
from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.decide.stopping import stop_wanted


def is_uncounted(pod: Pod) -> bool:
    """Return whether the failure policy of the driver's Job ignores the failure of this pod."""
    ended = pod.exits.get(CONTAINER)
    in_order = ended is not None and ended.code == names.EXIT_SIGTERM
    return in_order or pod.is_disrupted


def deleted_driver(seen: Situation, job: Job) -> Pod | None:
    """Return the driver's deleted pod if the driver has ended and the Job would delay the next pod, or else None.

    The driver of a pod on a lost node has not ended. The operator does not replace a Job that has counted failures,
    because a new Job would begin to count at 0.
    """
    pod = seen.driver_pod
    if pod is None or seen.driver_phase != "Failed" or pod.is_lost_with_node or job.failed_pods:
        return None
    return pod if pod.is_terminating and is_uncounted(pod) and stop_wanted(seen) is None else None
