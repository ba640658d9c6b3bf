"""``status`` of a CollectorFleet: the observed state.

Operator and driver are separate field managers. The operator writes :class:`OperatorStatus`. The driver writes
:class:`~collectorfleet_api.v1alpha1.report.DriverReport`. Unknown values are absent.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Count, Model, Time
from collectorfleet_api.v1alpha1.condition import Condition
from collectorfleet_api.v1alpha1.reasons import ConditionType, Phase
from collectorfleet_api.v1alpha1.report import DriverReport
from collectorfleet_api.v1alpha1.types import BY_NAME

MOST_DRAINED_PODS: Final = 1000


class WorkerPods(Model):
    desired: Count = Field(description="Number of requested worker pods.")
    ready: Count = Field(description="Number of worker pods that are Ready.")


class WorkerGroupStatus(Model):
    name: str = Field(description="Name of the group.")
    worker_pods: WorkerPods = Field(description="Numbers of desired and ready worker pods in the group.")
    gpu_per_collector: float | None = Field(
        default=None, description="Share of a GPU that each collector of the group gets."
    )
    surplus_gpu: float | None = Field(
        default=None, description="Number of GPUs in the group's worker pods that no collector uses."
    )


class RayClusterStatus(Model):
    name: str = Field(description="Name of the RayCluster.")
    head: str | None = Field(default=None, description="Name of the head pod.")
    worker_pods: WorkerPods | None = Field(
        default=None,
        description=("Numbers of desired and ready worker pods. Evaluator pods are counted in `groups` only."),
    )
    gpu_per_collector: float | None = Field(default=None, description="Share of a GPU that each collector gets.")
    surplus_gpu: float | None = Field(
        default=None, description=("Number of GPUs in worker pods that no collector uses.")
    )
    groups: list[WorkerGroupStatus] = Field(
        default_factory=list,
        description=(
            "Worker pods and GPU shares of each group in `spec.collectors.groups`. Learner pods, if any, together have "
            "one further item. Evaluator pods, if any, together have another item."
        ),
        json_schema_extra=BY_NAME,
    )


class CollectorsJobStatus(Model):
    name: str = Field(description="Name of the Job.")
    worker_pods: WorkerPods | None = Field(default=None, description="Numbers of desired and ready pods of the Job.")
    gpu_per_collector: float | None = Field(default=None, description="Share of a GPU that each collector gets.")
    surplus_gpu: float | None = Field(
        default=None, description=("Number of GPUs in the Job's pods that no collector uses.")
    )


class DriverPodStatus(Model):
    pod: str | None = Field(default=None, description="Name of the newest driver pod.")
    restarts: Count = Field(default=0, description="Number of driver pods that failed before the newest driver pod.")
    start_time: Time | None = Field(default=None, description="When the driver Job started.")
    completion_time: Time | None = Field(default=None, description="When the driver Job ended.")
    spec_hash: str | None = Field(
        default=None,
        description=(
            "Hash of the spec fields that the newest run uses. The operator retries a failed run when the hash changes."
        ),
    )
    expires: Time | None = Field(
        default=None,
        description=(
            "When the objects of the ended run will be deleted, computed from `ttlSecondsAfterFinished`. Absent: they "
            "will not be deleted, or the time is not known yet."
        ),
    )


class CodeStatus(Model):
    digest: str = Field(
        description=(
            "Digest of the tree that the newest driver pod or the head unpacked. For an archive or an artifact's "
            "manifest, the digest is `sha256:...`. For a git repository, it is `git:` and the commit."
        )
    )


class Orders(Model):
    """Orders of the operator to a driver. The driver reads these orders in the answers to its own status writes."""

    driver: str = Field(description="The driver pod to which these orders apply. Other driver pods ignore the orders.")
    stop_at_batch: bool = Field(
        default=False, description=("True: the driver ends after the current batch, with a checkpoint.")
    )
    drain_pods: list[str] = Field(
        default_factory=list,
        max_length=MOST_DRAINED_PODS,
        description="Worker pods that the operator replaces. The driver drains their collectors.",
    )
    since: Time = Field(description="When the operator first gave the current orders.")


class OperatorStatus(Model):
    """The fields that the operator writes, by server-side apply as `collectorfleet-operator`."""

    observed_generation: int | None = Field(
        default=None,
        description=(
            "Generation of the spec that this status describes. The number is -1 until the operator has seen the fleet."
        ),
    )
    phase: Phase | None = Field(default=None, description="Summary of the conditions, for people.")
    conditions: list[Condition] = Field(
        default_factory=list,
        description=f"{', '.join(ConditionType)}.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    replicas: int | None = Field(
        default=None, description=("Number of available collectors, for the scale subresource.")
    )
    selector: str | None = Field(
        default=None,
        description=(
            "Label selector for the scale subresource. The selector matches the worker pods if each pod has one "
            "collector. If a pod has several collectors, the selector matches no pod. An autoscaler that uses pod "
            "metrics would otherwise count each pod as one collector."
        ),
    )
    ray_cluster: RayClusterStatus | None = Field(default=None, description="The Ray cluster of the fleet.")
    collectors_job: CollectorsJobStatus | None = Field(
        default=None, description="The Job that runs the collectors, with `launcher: Job`."
    )
    driver: DriverPodStatus | None = Field(default=None, description="The driver Job.")
    code: CodeStatus | None = Field(
        default=None,
        description=(
            "The package tree that the pods run. Absent: `spec.code` names no tree, or the tree is not unpacked yet."
        ),
    )
    orders: Orders | None = Field(
        default=None, description="Orders of the operator to the driver. Absent: there are no orders."
    )

    def condition(self, type_: ConditionType) -> Condition | None:
        """Return the condition of a type, or None."""
        return next((found for found in self.conditions if found.type == type_), None)


class CollectorFleetStatus(DriverReport, OperatorStatus):
    """The whole status: the fields of the driver and of the operator."""
