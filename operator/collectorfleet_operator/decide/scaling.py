"""How many pods each worker group has, and which of them go when a fleet gets smaller. Pure.

The driver retires collectors by itself when it sees fewer replicas; until it has, no pod goes. Then the pods with the
fewest collectors go first, by name: KubeRay would choose any.
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
    """Return ``desired`` with the number of worker pods that ``stored`` can change to now.

    It also names the pods to delete. In a Job these have the highest indexes, and the driver has drained them.
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
    """How many pods of a group to ask KubeRay for, and the names of those that it shall delete.

    Names stay listed until their pods are gone: KubeRay counts a terminating pod as one that runs, and would delete
    another one for it.
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
    # With fewer pods than asked for, KubeRay has nothing to delete for the missing ones.
    surplus = max(0, len(staying) - wanted)
    return GroupSize(wanted, going + tuple(_emptiest_first(seen, staying)[:surplus]))


def _emptiest_first(seen: Situation, workers: list[Pod]) -> list[str]:
    """What the driver says is empty; pods that never got ready hold nothing either; then the emptiest.

    The driver lists its worst 100 collectors only, so that no row is no proof of an empty pod.
    """
    drained = set(seen.report.drained_pods if seen.report else [])
    busy = _collectors_by_pod(seen)
    order = sorted((pod.name not in drained, busy[pod.name], pod.is_ready, pod.name) for pod in workers)
    return [name for *_, name in order]


def _driver_has_drained(seen: Situation, group: str) -> bool:
    """True if no running driver still counts on more collectors of the group than the fleet asks for."""
    if seen.driver_phase != "Running":
        return True
    progress = seen.report.progress if seen.report else None
    if progress is None or progress.collectors is None:
        return True
    collectors, counts = seen.present.spec.collectors, progress.collectors
    own = next((one for one in counts.groups if one.name == group), None)
    desired, available = (counts.desired, counts.available) if own is None else (own.desired, own.available)
    wanted = collectors.replicas if own is None else collectors.group_sizes.get(group, 0)
    # Those that leave are available until their last answer is there.
    return desired <= wanted and available <= wanted


def _collectors_by_pod(seen: Situation) -> Counter[str]:
    rows = seen.report.collectors if seen.report else []
    return Counter(row.pod for row in rows if row.pod and row.state not in _GONE)
