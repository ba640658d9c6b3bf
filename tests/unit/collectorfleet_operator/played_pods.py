"""The pods of a fleet, which KubeRay, the Job controller and the kubelets change when the test says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.unit.collectorfleet_operator.stored import COLLECTORS, DRIVER, KEY, NAME, NOON, Stored, wire_time

from collectorfleet_api import names
from collectorfleet_operator.children.collectors_job import INDEX_LABEL
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.group_sizes import worker_groups
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.worker_group import GROUP_LABEL
from collectorfleet_operator.objects import Object, label, metadata, name_of, uid_of

CONTAINERS = {"head": "ray-head", "worker": "ray-worker", "driver": "driver"}


class PlayedPods(Stored):
    """Stored objects with the pods of a RayCluster and of Jobs."""

    def make_pods(self) -> None:
        """Create and delete pods, as KubeRay and the Job controller do."""
        cluster, job = self.cache.get(RAYCLUSTER, KEY), self.cache.get(JOB, DRIVER)
        collectors = self.cache.get(JOB, COLLECTORS)
        if cluster is not None:
            spec = cluster["spec"]
            if not self.pods("head"):
                self._pod("head", cluster, spec["headGroupSpec"]["template"])
            for group in worker_groups(cluster).values():
                self._resize(cluster, group)
        if collectors is not None:
            self._replace(collectors)
        if job is not None and not self.pods("driver"):
            self._pod("driver", job, job["spec"]["template"])

    def _replace(self, job: Object) -> None:
        """Create a pod for each index without one. Failed pods stay."""
        left = {label(pod, INDEX_LABEL): pod for pod in self.pods("worker") if pod["status"].get("phase") != "Failed"}
        for index in map(str, range(job["spec"]["completions"])):
            if left.pop(index, None) is None:
                self._pod("worker", job, job["spec"]["template"], {INDEX_LABEL: index})
        self.collect(*left.values())

    def _resize(self, cluster: Object, group: Object) -> None:
        role = label(group["template"], names.ROLE_LABEL) or ""

        def workers() -> list[Object]:
            return [pod for pod in self.pods(role) if label(pod, GROUP_LABEL) == group["groupName"]]

        for name in group.get("scaleStrategy", {}).get("workersToDelete", []):
            self.collect(*(pod for pod in workers() if name_of(pod) == name))
        for _ in range(group["replicas"] - len(workers())):
            self._pod(role, cluster, group["template"], {GROUP_LABEL: group["groupName"]})
        self.collect(*workers()[group["replicas"] :])

    def _pod(self, role: str, owner: Object, template: Object, labels: Mapping[str, str] | None = None) -> None:
        name = f"{NAME}-{role}-{next(self._numbers)}"
        reference = {"kind": owner["kind"], "name": name_of(owner), "uid": uid_of(owner), "controller": True}
        self.store(
            {
                "apiVersion": POD.api_version,
                "kind": POD.kind,
                "metadata": {
                    "name": name,
                    "namespace": KEY.namespace,
                    "labels": {**template["metadata"]["labels"], **(labels or {})},
                    "ownerReferences": [reference],
                },
                "spec": template["spec"],
                "status": {"phase": "Pending"},
            }
        )

    def run_pods(self, *roles: str) -> None:
        """Let the pods of these roles be ready."""
        for role in roles:
            for pod in self.pods(role):
                ready = {"type": "Ready", "status": "True"}
                self.set_pod(pod, phase="Running", conditions=[ready])

    def set_pod(self, pod: Object, **pod_status: Any) -> None:
        """Replace the status of a pod."""
        self.store({**pod, "status": pod_status})

    def hold_up(self, role: str, reason: str, message: str) -> None:
        """Let the containers of the pods of this role wait."""
        for pod in self.pods(role):
            state = {"waiting": {"reason": reason, "message": message}}
            self.set_pod(pod, phase="Pending", containerStatuses=[{"name": CONTAINERS[role], "state": state}])

    def end_driver(self, code: int, message: str = "", reason: str = "Error") -> None:
        """Let the newest driver pod end."""
        pod = max(self.pods("driver"), key=lambda one: str(metadata(one)["creationTimestamp"]))
        state = {"terminated": {"exitCode": code, "reason": reason, "message": message}}
        phase = "Failed" if code else "Succeeded"
        self.set_pod(pod, phase=phase, containerStatuses=[{"name": "driver", "state": state}])

    def replace_driver_pod(self) -> None:
        """Delete the driver pod, and let the driver's Job start another one."""
        self.collect(*self.pods("driver"))
        self.make_pods()
        self.run_pods("driver")

    def end_code(self, pod: Object, code: int, message: str) -> None:
        """Let the container end that unpacks the code of a pod."""
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}}
        phase = "Failed" if code else "Pending"
        self.set_pod(pod, phase=phase, initContainerStatuses=[{"name": names.CODE_CONTAINER, "state": state}])

    def end_job(self, how: str, **job_status: Any) -> None:
        """Let the driver's Job end. ``how`` is ``Complete`` or ``Failed``."""
        job = self.get(JOB, DRIVER)
        condition = {"type": how, "status": "True", "lastTransitionTime": wire_time(NOON), "message": f"Job is {how}"}
        self.store({**job, "status": {"conditions": [condition], **job_status}})

    def complete(self) -> None:
        """Let the driver finish, and its Job with it."""
        self.end_driver(0)
        self.end_job("Complete")

    def fail(self, message: str = "no such game") -> None:
        """Let the driver fail for good, and its Job with it."""
        self.end_driver(64, message)
        self.end_job("Failed")
