"""The number of pods of each worker group, and the choice of pods to delete when a fleet scales down. Pure.

The driver retires collectors after ``replicas`` has decreased. After that, the operator deletes pods, and begins with
the pods that have the fewest collectors. The operator names the pods, because KubeRay would choose arbitrary pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from collectorfleet_api.v1alpha1 import CollectorState
from collectorfleet_operator.children.group_sizes import GroupSize, resized, sizes_of
from collectorfleet_operator.children.workload import workers_of
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pod_owner import PodOwner
from collectorfleet_operator.decide.rolling import to_replace
from collectorfleet_operator.decide.situation import Situation
from collectorfleet_operator.objects import Object

_GONE = (CollectorState.RETIRED, CollectorState.FAILED)


def sized(seen: Situation, stored: PodOwner | None, desired: Object) -> Object:
    """Return ``desired`` with the numbers of worker pods to which ``stored`` can be scaled now.

    The result also names the pods to delete. A Job deletes the pods with the highest indexes, which the driver has
    drained.
    """
    present = {} if stored is None else stored.sizes
    return resized(
        desired,
        {
            name: _next_size(seen, name, present.get(name), size.pods, to_replace(seen, name, desired))
            for name, size in sizes_of(desired).items()
        },
    )


def limited(desired: Object, most: Mapping[str, int]) -> Object:
    """Return ``desired`` with at most as many pods in each group as the quota allows."""
    sizes = {name: GroupSize(min(size.pods, most.get(workers_of(name), 0))) for name, size in sizes_of(desired).items()}
    return resized(desired, sizes)


def _next_size(
    seen: Situation, group: str, present: GroupSize | None, wanted: int, replaced: Sequence[str]
) -> GroupSize:
    """Return the number of pods to request for a group, and the names of the pods that KubeRay must delete.

    A name stays listed until its pod is gone: KubeRay counts a terminating pod as running, and would otherwise delete
    another pod in its place.
    """
    if present is None:
        return GroupSize(wanted)
    workers = seen.of_group(group)
    still_there = {pod.name for pod in workers}
    going = tuple(name for name in present.to_delete if name in still_there)
    going += tuple(name for name in replaced if name not in going)
    if present.pods <= wanted:
        return GroupSize(wanted, going)
    if not _driver_has_drained(seen, group):
        return GroupSize(present.pods, going)
    staying = [pod for pod in workers if pod.name not in going and not pod.is_terminating]
    # Only existing pods count: for a missing pod, KubeRay has nothing to delete.
    surplus = max(0, len(staying) - wanted)
    return GroupSize(wanted, going + tuple(_emptiest_first(seen, staying)[:surplus]))


def _emptiest_first(seen: Situation, workers: list[Pod]) -> list[str]:
    """Return the pods' names: drained pods first, the others sorted by number of listed collectors, readiness and name.

    The driver lists only its worst 100 collectors. So a pod without a listed collector may still have collectors.
    """
    drained = set(seen.report.drained_pods if seen.report else [])
    busy = _collectors_by_pod(seen)
    order = sorted((pod.name not in drained, busy[pod.name], pod.is_ready, pod.name) for pod in workers)
    return [name for *_, name in order]


def _driver_has_drained(seen: Situation, group: str) -> bool:
    """Return whether no running driver uses more collectors of the group than the fleet requests."""
    if seen.driver_phase != "Running":
        return True
    progress = seen.report.progress if seen.report else None
    if progress is None or progress.collectors is None:
        return True
    collectors, counts = seen.present.spec.collectors, progress.collectors
    own = next((one for one in counts.groups if one.name == group), None)
    desired, available = (counts.desired, counts.available) if own is None else (own.desired, own.available)
    wanted = collectors.replicas if own is None else collectors.group_sizes.get(group, 0)
    # A collector that the driver retires counts as available until the driver has the collector's last answer.
    return desired <= wanted and available <= wanted


def _collectors_by_pod(seen: Situation) -> Counter[str]:
    rows = seen.report.collectors if seen.report else []
    return Counter(row.pod for row in rows if row.pod and row.state not in _GONE)
