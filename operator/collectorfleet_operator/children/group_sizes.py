"""The sizes of worker groups and the pods to delete, in a RayCluster or in the collectors' Job.

The Job of a fleet without Ray has one group. Kubernetes first deletes the pods of this group that have the highest
indexes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from collectorfleet_api import names
from collectorfleet_operator.children.diff import DIFFERS, difference
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.worker_group import collectors_per_pod
from collectorfleet_operator.objects import Object, annotation

# The Job has this annotation, so that users and messages need not parse the Job's command.
COLLECTORS_PER_POD: Final = f"{names.GROUP}/collectors-per-pod"
# The groups without collectors, each with the word for the processes in its pods.
_OTHERS: Final = {names.LEARNER_GROUP: "learner", names.EVALUATOR_GROUP: "evaluator"}


@dataclass(frozen=True)
class GroupSize:
    """The requested number of pods of a group, and the names of existing pods to delete."""

    pods: int
    to_delete: tuple[str, ...] = ()


def worker_groups(cluster: Object) -> dict[str, Object]:
    """Return the worker groups by name, in the order of the RayCluster."""
    return {group["groupName"]: group for group in cluster["spec"]["workerGroupSpecs"]}


def sizes_of(cluster: Object) -> dict[str, GroupSize]:
    if _is_job(cluster):
        return {names.WORKER_GROUP: GroupSize(int(cluster["spec"]["completions"]))}
    return {name: size_of(group) for name, group in worker_groups(cluster).items()}


def resized(cluster: Object, sizes: Mapping[str, GroupSize]) -> Object:
    """Return the RayCluster or Job with the named groups resized to ``sizes``."""
    if _is_job(cluster):
        size = sizes.get(names.WORKER_GROUP)
        # If only one of these two fields changes, the API server refuses the change, or some indexes have no pod.
        changed = {} if size is None else {"completions": size.pods, "parallelism": size.pods}
        return {**cluster, "spec": {**cluster["spec"], **changed}}
    groups = [
        _resized(group, sizes[name]) if name in sizes else group for name, group in worker_groups(cluster).items()
    ]
    return {**cluster, "spec": {**cluster["spec"], "workerGroupSpecs": groups}}


def pods_text(cluster: Object) -> str:
    """Return the pods of every group in words: ``4 worker pods for 1 collector each``."""
    if _is_job(cluster):
        return _pods_text(int(cluster["spec"]["completions"]), int(annotation(cluster, COLLECTORS_PER_POD) or 1))
    groups = worker_groups(cluster)
    if len(groups) == 1:
        return ", ".join(map(_group_text, groups.values()))
    return ", ".join(
        _group_text(group) if name in _OTHERS else f"{_group_text(group)} in {name}" for name, group in groups.items()
    )


def cluster_difference(stored: Object, desired: Object) -> str:
    """Return, in words, the changes that applying ``desired`` would make, or an empty text if there are none."""
    before, after = sizes_of(stored), sizes_of(desired)
    if _pods(before) != _pods(after):
        return f"from {sum(_pods(before).values())} to {pods_text(desired)}"
    new = {name for group, size in after.items() for name in size.to_delete if name not in before[group].to_delete}
    if new:
        begin = "another pod replaces" if len(new) == 1 else "other pods replace"
        return f"{begin} {', '.join(sorted(new))}"
    # An absent list of pods to delete matches any list in difference(), so the sizes are compared here.
    return difference(stored, desired) if before == after else DIFFERS


def job_difference(stored: Object, desired: Object) -> str:
    """Return, in words, how applying ``desired`` would change the size, or an empty text if the size would not change.

    All other fields of an existing Job are immutable.
    """
    pods = int(desired["spec"]["completions"])
    if pods == int(stored["spec"]["completions"]) == int(stored["spec"]["parallelism"]):
        return ""
    return f"from {stored['spec']['parallelism']} to {pods_text(desired)}"


def sized_in_place(stored: Object, desired: Object) -> Object:
    """Return ``desired`` with the spec of the stored Job and the desired size: only the size can be changed."""
    return resized({**desired, "spec": stored["spec"]}, sizes_of(desired))


def _is_job(cluster: Object) -> bool:
    return bool(cluster["kind"] == JOB.kind)


def size_of(group: Object) -> GroupSize:
    """Return the size of one worker group of a RayCluster."""
    strategy = group.get("scaleStrategy") or {}
    return GroupSize(int(group.get("replicas", 0)), tuple(strategy.get("workersToDelete") or ()))


def _resized(group: Object, size: GroupSize) -> Object:
    rest = {key: value for key, value in group.items() if key != "scaleStrategy"}
    strategy = {"scaleStrategy": {"workersToDelete": sorted(size.to_delete)}} if size.to_delete else {}
    return {**rest, "replicas": size.pods, **strategy}


def _pods(sizes: Mapping[str, GroupSize]) -> dict[str, int]:
    return {name: size.pods for name, size in sizes.items()}


def _group_text(group: Object) -> str:
    other = _OTHERS.get(group["groupName"])
    if other is not None:
        return f"{group['replicas']} {other} pod{'s' * (group['replicas'] != 1)}"
    return _pods_text(int(group["replicas"]), collectors_per_pod(group))


def _pods_text(pods: int, per_pod: int) -> str:
    return f"{pods} worker pod{'s' * (pods != 1)} for {per_pod} collector{'s' * (per_pod != 1)} each"
