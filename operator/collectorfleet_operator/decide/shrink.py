"""Which worker pods go when a fleet gets smaller. Pure.

The driver retires collectors by itself when it sees fewer replicas; until it has, no pod goes. Then the pods with the
fewest collectors go first, by name: KubeRay would choose any.
"""

from __future__ import annotations

from collections import Counter

from collectorfleet_api.v1alpha1 import CollectorState
from collectorfleet_operator.children.raycluster import worker_group
from collectorfleet_operator.decide import pods
from collectorfleet_operator.decide.observed import Observed
from collectorfleet_operator.objects import is_terminating, name_of

_GONE = (CollectorState.RETIRED, CollectorState.FAILED)


def pods_to_delete(seen: Observed, present: int, wanted: int) -> tuple[int, list[str]]:
    """How many worker pods to ask KubeRay for, and the names of those that it shall delete.

    Names stay listed until their pods are gone: KubeRay counts a terminating pod as one that runs, and would delete
    another one for it.
    """
    workers = seen.belonging(pods.of_role(seen.pods, pods.WORKER), seen.cluster)
    listed: list[str] = []
    if seen.cluster is not None:
        listed = worker_group(seen.cluster).get("scaleStrategy", {}).get("workersToDelete", [])
    still_there = {name_of(pod) for pod in workers}
    going = [name for name in listed if name in still_there]
    surplus = present - wanted
    if surplus <= 0:
        return wanted, going
    if not _driver_has_drained(seen):
        return present, going
    busy = _collectors_by_pod(seen)
    candidates = [pod for pod in workers if name_of(pod) not in going and not is_terminating(pod)]
    drained = set(seen.report.drained_pods if seen.report else [])
    # What the driver says is empty; pods that never got ready hold nothing either; then the emptiest. The driver lists
    # its worst 100 collectors only, so that no row is no proof of an empty pod.
    candidates.sort(key=lambda pod: (name_of(pod) not in drained, busy[name_of(pod)], pods.is_ready(pod), name_of(pod)))
    # With fewer pods than asked for, KubeRay has nothing to delete for the missing ones.
    count = max(0, len(candidates) - wanted)
    return wanted, going + [name_of(pod) for pod in candidates[:count]]


def _driver_has_drained(seen: Observed) -> bool:
    """True if no running driver still counts on more collectors than the fleet asks for."""
    if seen.driver_pod is None or pods.phase_of(seen.driver_pod) != "Running":
        return True
    progress = seen.report.progress if seen.report else None
    if progress is None or progress.collectors is None:
        return True
    wanted = seen.fleet.spec.collectors.replicas
    # Those that leave are available until their last answer is there.
    return progress.collectors.desired <= wanted and progress.collectors.available <= wanted


def _collectors_by_pod(seen: Observed) -> Counter[str]:
    rows = seen.report.collectors if seen.report else []
    return Counter(row.pod for row in rows if row.pod and row.state not in _GONE)
