"""The observation of one fleet at one moment, from which plan and status are computed. Pure.

Plan, status and conditions need the same facts, such as whether the driver must end. :func:`cached_per_situation`
computes each fact once per reconcile, because some computations visit ten thousand pods.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, wraps
from operator import attrgetter
from typing import Any, Concatenate, Final, ParamSpec, TypeGuard, TypeVar

from collectorfleet_api import names
from collectorfleet_api.packing.pods import Packing, pack_groups
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport, Reason
from collectorfleet_operator.children.driver_job import CONTAINER
from collectorfleet_operator.children.hashes import changed_parts
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.children.propagation import NOTHING, Propagation
from collectorfleet_operator.children.table import Child
from collectorfleet_operator.children.workload import NEWEST_KUEUE, KueueVersion
from collectorfleet_operator.decide.driver_clock import by_server_clock
from collectorfleet_operator.decide.driver_lost import TAKES_LEASE_WITHIN, is_driver_lost
from collectorfleet_operator.decide.job import Job
from collectorfleet_operator.decide.pod import Pod
from collectorfleet_operator.decide.pod_owner import PodOwner
from collectorfleet_operator.decide.pods import newest
from collectorfleet_operator.decide.raycluster import RayCluster
from collectorfleet_operator.decide.workload import Workload
from collectorfleet_operator.objects import Kind, Object

# Pods of collectors and of learners. A fleet does not collect without them.
_WORKERS: Final = (PodRole.WORKER, PodRole.LEARNER)
_OF_GROUPS: Final = (*_WORKERS, PodRole.EVALUATOR)


_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")
_Owner = TypeVar("_Owner", bound=PodOwner)
_UNANSWERED: Final = object()


@dataclass(frozen=True)
class Refused:
    """A write that the API server did not carry out.

    ``is_retried``: the API server or one of its webhooks failed, so the next try may succeed. Otherwise the API server
    refuses the write until a user changes something.
    """

    kind: Kind
    reason: Reason
    message: str  # contains the object's name
    holds_collectors: bool = False  # the object runs collectors, or its pods need the object to start
    is_retried: bool = False


@dataclass(frozen=True)
class Warned:
    """A Warning event about a child."""

    object_uid: str
    reason: str
    message: str
    # The time of the last Event. Comparisons ignore this time: a repeated Event triggers a reconcile only if no
    # condition could show the warning before.
    at: datetime = field(compare=False)


@dataclass(frozen=True)
class Situation:
    """A fleet, its children and its pods.

    ``children`` has each existing object with the kind and name of a child, even if the fleet does not own the object.
    ``pods`` have a controller, which is no orphan. ``ignored_pods`` have the fleet's label but no controller, so they
    are not the fleet's. ``problems`` has the problems of the stored spec, in sentences. ``running`` is the fleet with
    the spec of its driver's Job. It is None without a Job, or if this release cannot read the spec in the Job.
    """

    fleet: CollectorFleet
    now: datetime
    running: CollectorFleet | None = None
    children: Mapping[Child, Object] = field(default_factory=dict)
    # The facts of these children, even if the fleet does not own them.
    job: Job | None = None  # the driver's
    raycluster: RayCluster | None = None
    collectors_job: Job | None = None
    workload: Workload | None = None
    pods: Sequence[Pod] = ()
    ignored_pods: Sequence[Pod] = ()
    problems: Sequence[str] = ()
    kuberay_installed: bool = True
    # Why no fleet can use a queue in this cluster, in a sentence. The text is empty if fleets can use queues.
    why_no_queues: str = ""
    # The version of Kueue's API in which the operator writes Workloads.
    kueue: KueueVersion = NEWEST_KUEUE
    # Existing cluster-scoped objects of Kueue to which the fleet refers. Flavors are listed by name.
    flavors: Mapping[str, Object] = field(default_factory=dict)
    priority_class: Object | None = None
    propagation: Propagation = NOTHING
    refused: Sequence[Refused] = ()
    warnings: Sequence[Warned] = ()
    # Time since the Lease last changed, by this process's clock; None: the driver never held the Lease.
    lease_unchanged_for: timedelta | None = None
    # Time since the driver's container began, or since the Lease was released, by the clocks of kubelet and API
    # server. None: the driver holds the Lease, or its container has not begun.
    driver_without_lease_for: timedelta | None = None
    # How far the driver's clock is ahead of the API server's.
    driver_clock_ahead: timedelta = timedelta(0)
    # When the ConfigMap of a failed run's code last changed. None if the run did not fail, or the time is unknown.
    code_changed_at: datetime | None = None
    # When the driver last wrote into the status, by the API server's clock, in Kubernetes' format.
    reported_at: str | None = None
    # The cache of :func:`cached_per_situation`. Each situation has its own cache.
    _answers: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def clusters(self) -> list[PodOwner]:
        """Return the objects that run collectors, including the object of a previous launcher."""
        return [one for one in (self.raycluster, self.collectors_job) if one is not None]

    @cached_property
    def cluster(self) -> PodOwner | None:
        """Return the object that runs the collectors of this launcher: a RayCluster or a Job."""
        return self.raycluster if self.present.spec.has_ray else self.collectors_job

    @property
    def cluster_in_words(self) -> str:
        """Return the kind of object that runs the collectors of this launcher, even if the object does not exist."""
        return "RayCluster" if self.present.spec.has_ray else "collectors' Job"

    @cached_property
    def usable_workload(self) -> Workload | None:
        """Return the Workload if the fleet owns the Workload and it is not being deleted, or else None."""
        found = self.workload
        is_ours = found is not None and found.controller == self.fleet.metadata.uid
        return found if found is not None and is_ours and not found.is_terminating else None

    @property
    def can_be_made(self) -> bool:
        """Return whether the API server serves the kinds that the launcher needs."""
        return self.kuberay_installed or not self.present.spec.has_ray

    @cached_property
    def present(self) -> CollectorFleet:
        """Return the fleet with the spec that its driver runs, or with the stored spec if there is no driver."""
        return self.running or self.fleet

    @cached_property
    def groups(self) -> Mapping[str, Packing] | Refusal:
        """Return how the collectors of each worker group are packed into pods."""
        return pack_groups(self.present.spec.worker_groups)

    @cached_property
    def heads(self) -> list[Pod]:
        return self.belonging(self._of_role(PodRole.HEAD), self.cluster)

    @cached_property
    def workers(self) -> list[Pod]:
        """Return the worker pods of the present RayCluster or Job, with collectors or learners."""
        return self.belonging(self._of_role(*_WORKERS), self.cluster)

    @cached_property
    def evaluators(self) -> list[Pod]:
        """Return the evaluator pods of the present RayCluster."""
        return self.belonging(self._of_role(PodRole.EVALUATOR), self.cluster)

    def of_group(self, group: str) -> list[Pod]:
        """Return the pods of one group of the present RayCluster or Job."""
        return self._by_group.get(group, [])

    @cached_property
    def cluster_pods(self) -> list[Pod]:
        """Return the pods of head, workers and evaluators, from the present and earlier RayClusters or Jobs."""
        return [*self._of_role(PodRole.HEAD), *self._of_role(*_OF_GROUPS)]

    @property
    def driver_pods(self) -> list[Pod]:
        return self._of_role(PodRole.DRIVER)

    @cached_property
    def driver_pod(self) -> Pod | None:
        """Return the newest driver pod of the present Job."""
        return newest(self.belonging(self.driver_pods, self.job))

    @cached_property
    def driver_phase(self) -> str | None:
        """Return the phase of the driver pod, from the driver container only, or None without a pod."""
        return None if self.driver_pod is None else self.driver_pod.phase_by(CONTAINER)

    @cached_property
    def stop_requested_at(self) -> datetime | None:
        """Return when the status first ordered the present driver to end after its batch, or None without an order."""
        pod, orders = self.driver_pod, self.fleet.status.orders if self.fleet.status else None
        if pod is None or orders is None or orders.driver != pod.name or not orders.stop_at_batch:
            return None
        return orders.since

    @cached_property
    def driver_is_lost(self) -> bool:
        """Return whether the driver stopped renewing its Lease, did not acquire it, or hangs after releasing it."""
        waited = self.driver_without_lease_for
        return is_driver_lost(self.lease_unchanged_for) or (waited is not None and waited >= TAKES_LEASE_WITHIN)

    @cached_property
    def spec_is_held(self) -> bool:
        """Return whether the driver runs a spec that differs from the stored spec."""
        if not self.is_usable(self.job):
            return False
        return bool(self.problems or changed_parts(self.job.hashes, self.fleet.spec))

    @cached_property
    def has_progress(self) -> bool:
        """Return whether a driver of this fleet has delivered a batch, which a new start would lose."""
        report = self.last_report
        return report is not None and report.progress is not None and bool(report.progress.batches)

    @cached_property
    def report(self) -> DriverReport | None:
        """Return the report of the present driver, or of the last driver if there is no present driver pod.

        Return None if the present driver has not reported yet.
        """
        pod = self.driver_pod
        # Both texts are times of the API server's clock in one format, so the code compares the texts.
        if pod is not None and self.reported_at is not None and self.reported_at < pod.created_text:
            return None
        return self.last_report

    @cached_property
    def last_report(self) -> DriverReport | None:
        """Return the last report of a driver of this fleet, even if the driver's pod is gone, or None without a report.

        The times of the report are converted to the API server's clock. A status apply does not check uids, so a driver
        of a deleted fleet of the same name may have written the report. Such a report does not count.
        """
        report = self.fleet.status
        if report is None or report.fleet_uid is None or report.fleet_uid != self.fleet.metadata.uid:
            return None
        return by_server_clock(report, self.driver_clock_ahead) if self.driver_clock_ahead else report

    def is_ours(self, owner: PodOwner) -> bool:
        return owner.controller == self.fleet.metadata.uid

    def is_usable(self, owner: _Owner | None) -> TypeGuard[_Owner]:
        """Return whether a Job or RayCluster is this fleet's and is not being deleted."""
        return owner is not None and owner.controller == self.fleet.metadata.uid and not owner.is_terminating

    def belonging(self, found: Sequence[Pod], owner: PodOwner | None) -> list[Pod]:
        """Return the pods that ``owner`` made."""
        return [] if owner is None else [pod for pod in found if pod.controller == owner.uid]

    def leftovers(self, found: Sequence[Pod], owner: PodOwner | None) -> list[Pod]:
        """Return the pods that an earlier RayCluster or Job made.

        KubeRay finds its pods by name only, so it would count these pods as pods of the new RayCluster.
        """
        return list(found) if owner is None else [pod for pod in found if pod.controller != owner.uid]

    @cached_property
    def _by_role(self) -> Mapping[str, list[Pod]]:
        found: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in self.pods:
            found[pod.role].append(pod)
        return found

    def _of_role(self, *roles: PodRole) -> list[Pod]:
        """Return the pods with these roles, sorted by name."""
        there = [self._by_role[role] for role in roles if role in self._by_role]
        return there[0] if len(there) == 1 else sorted(itertools.chain(*there), key=attrgetter("name"))

    @cached_property
    def _by_group(self) -> Mapping[str, list[Pod]]:
        if not self.present.spec.has_ray:
            # A Job is one group, and its pods have no group label.
            return {names.WORKER_GROUP: [*self.workers, *self.evaluators]}
        found: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in (*self.workers, *self.evaluators):
            found[pod.group].append(pod)
        return found


def cached_per_situation(
    answer: Callable[Concatenate[Situation, _Arguments], _Answer],
) -> Callable[Concatenate[Situation, _Arguments], _Answer]:
    """Cache the results of a pure function for each situation. The function's other arguments must be hashable."""

    @wraps(answer)
    def remembered(seen: Situation, /, *args: _Arguments.args, **named: _Arguments.kwargs) -> _Answer:
        question = (answer, *args, *named.items()) if args or named else answer
        found = seen._answers.get(question, _UNANSWERED)
        if found is _UNANSWERED:
            found = seen._answers[question] = answer(seen, *args, **named)
        return found  # type: ignore[no-any-return]

    return remembered
