"""Everything that is known about one fleet at one moment: what plan and status decide on. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeGuard

from collectorfleet_api.packing.pods import Packing, Refusal, pack
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport
from collectorfleet_operator.children.common import RUN_ANNOTATION, run_of
from collectorfleet_operator.decide import pods
from collectorfleet_operator.objects import Kind, Object, annotation, controller_uid, is_terminating, metadata, uid_of


@dataclass(frozen=True)
class Refused:
    """A write that the API server refuses for as long as nobody changes something."""

    kind: Kind
    reason: str  # NameTaken, Refused
    message: str  # names the object


@dataclass(frozen=True)
class Warned:
    """A Warning event about a child."""

    object_uid: str
    reason: str
    message: str


@dataclass(frozen=True)
class Observed:
    """A fleet, its children and its pods.

    A child is there if an object of its kind and name is, whoever owns it. ``problems`` are what is wrong with the
    spec, in sentences.
    """

    fleet: CollectorFleet
    cluster: Object | None = None
    job: Object | None = None
    service_account: Object | None = None
    role: Object | None = None
    role_binding: Object | None = None
    lease: Object | None = None
    pods: Sequence[Object] = ()
    problems: Sequence[str] = ()
    kuberay_installed: bool = True
    refused: Sequence[Refused] = ()
    warnings: Sequence[Warned] = ()
    # Since the Lease was last seen to change, by this process's clock; None: the driver never held it.
    driver_quiet_for: timedelta | None = None
    # When the driver last wrote into the status, by the API server's clock, as Kubernetes writes times.
    reported_at: str | None = None

    @property
    def packing(self) -> Packing | Refusal:
        spec = self.fleet.spec
        return pack(
            spec.collectors.replicas,
            spec.collectors.resources.gpu,
            spec.workers.gpu.per_pod,
            spec.workers.collectors_per_pod,
        )

    @property
    def ray_pods(self) -> list[Object]:
        return [*pods.of_role(self.pods, pods.HEAD), *pods.of_role(self.pods, pods.WORKER)]

    @property
    def driver_pods(self) -> list[Object]:
        return pods.of_role(self.pods, pods.DRIVER)

    @property
    def driver_pod(self) -> Object | None:
        """The newest driver pod of the present Job."""
        return pods.newest(self.belonging(self.driver_pods, self.job))

    @property
    def spec_is_held(self) -> bool:
        """Whether the driver was made from another spec than the stored one."""
        return self.job is not None and annotation(self.job, RUN_ANNOTATION) != run_of(self.fleet)

    @property
    def report(self) -> DriverReport | None:
        """What the driver reports, if it is about this fleet and not older than the present driver pod.

        A status apply does not check uids, so a driver of a former fleet of the same name may have written it.
        """
        report = self.fleet.status
        if report is None or report.fleet_uid is None or report.fleet_uid != self.fleet.metadata.uid:
            return None
        pod = self.driver_pod
        # Both are times of the API server, to the second, in one format.
        if pod is not None and self.reported_at is not None and self.reported_at < metadata(pod)["creationTimestamp"]:
            return None
        return report

    def is_ours(self, child: Object) -> bool:
        return controller_uid(child) == self.fleet.metadata.uid

    def is_usable(self, child: Object | None) -> TypeGuard[Object]:
        """Whether the child is there to stay: ours, and not being deleted."""
        return child is not None and self.is_ours(child) and not is_terminating(child)

    def belonging(self, found: Sequence[Object], child: Object | None) -> list[Object]:
        """Those of the pods that ``child`` made."""
        return [pod for pod in found if child is not None and controller_uid(pod) == uid_of(child)]

    def leftovers(self, found: Sequence[Object], child: Object | None) -> list[Object]:
        """Those of the pods that an earlier RayCluster or Job made.

        KubeRay finds its pods by name only, so it would count them as the new RayCluster's.
        """
        return [pod for pod in found if child is None or controller_uid(pod) != uid_of(child)]
