"""``spec`` of a CollectorFleet: the state that the user requests.

Users read the description of a field in the CRD, in ``kubectl explain`` and in ``docs/reference.md``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from collectorfleet_api.names import WORKER_GROUP
from collectorfleet_api.packing.custom import CustomResources
from collectorfleet_api.packing.evaluator_pods import pack_evaluators
from collectorfleet_api.packing.pods import Packing, WorkerGroup
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.v1alpha1.base import Duration, LocalObjectReference, Model, PositiveDuration
from collectorfleet_api.v1alpha1.code import Code
from collectorfleet_api.v1alpha1.collection import Collection
from collectorfleet_api.v1alpha1.collectors import CollectorClass, Collectors
from collectorfleet_api.v1alpha1.driver import Driver
from collectorfleet_api.v1alpha1.environment import Environment
from collectorfleet_api.v1alpha1.evaluation import Evaluation
from collectorfleet_api.v1alpha1.groups import over
from collectorfleet_api.v1alpha1.learners import Learners
from collectorfleet_api.v1alpha1.lifecycle import WhenFinished
from collectorfleet_api.v1alpha1.network_policy import NetworkPolicy
from collectorfleet_api.v1alpha1.output import Output, ReplayBuffer
from collectorfleet_api.v1alpha1.policy import Policy
from collectorfleet_api.v1alpha1.ray import Ray
from collectorfleet_api.v1alpha1.scheduling import Toleration
from collectorfleet_api.v1alpha1.types import (
    BY_NAME,
    ObjectName,
)
from collectorfleet_api.v1alpha1.update_strategy import UpdateStrategy
from collectorfleet_api.v1alpha1.weights import Weights
from collectorfleet_api.v1alpha1.workers import Workers


class ImagePullPolicy(StrEnum):
    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class Launcher(StrEnum):
    RAY_CLUSTER = "RayCluster"
    JOB = "Job"


class CollectorFleetSpec(Model):
    image: str = Field(
        min_length=1,
        description=(
            "Image of head, workers and driver. Build this image from the collector image. If a template "
            "names an image for a container, that container uses the template's image. Pods always fetch "
            "code with `spec.image`."
        ),
    )
    image_pull_policy: ImagePullPolicy = Field(
        default=ImagePullPolicy.IF_NOT_PRESENT, description="When kubelets pull the image."
    )
    image_pull_secrets: list[LocalObjectReference] = Field(
        default_factory=list,
        max_length=16,
        description="Secrets with registry credentials.",
        json_schema_extra=BY_NAME,
    )
    priority_class_name: ObjectName | None = Field(
        default=None,
        description=(
            "PriorityClass of all pods. A value in a template replaces this value. Absent: the cluster's default."
        ),
    )
    tolerations: list[Toleration] = Field(
        default_factory=list,
        max_length=32,
        description="Node taints that all pods tolerate. A list in a template replaces this list.",
    )
    code: Code | None = Field(default=None, description="Your Python code. Absent: all code is in the image.")
    environment: Environment | None = Field(
        default=None, description="The environment that every collector steps. Required without `driver.script`."
    )
    policy: Policy | None = Field(
        default=None,
        description=(
            "The policy. The driver calls the factory once. The policy's module is available as `collector.policy`. "
            "Absent: actions are random, or `driver.script` sets the policy."
        ),
    )
    driver: Driver = Field(default_factory=Driver, description="The pod that gathers batches and trains.")
    launcher: Launcher = Field(
        default=Launcher.RAY_CLUSTER,
        description=(
            "The kind of pods that run the collectors. RayCluster: the worker pods of a Ray cluster. Job: the worker "
            "pods of an Indexed Job, without Ray. With Job, the collectors and the driver form a process group, and "
            "`collection.transport` must be TorchDistributed."
        ),
    )
    collection: Collection = Field(default_factory=Collection, description="How the driver gathers batches.")
    collectors: Collectors = Field(default_factory=Collectors, description="The remote collectors.")
    workers: Workers = Field(default_factory=Workers, description="The pods that run collectors.")
    weights: Weights = Field(default_factory=Weights, description="How the driver sends weights to the collectors.")
    replay_buffer: ReplayBuffer | None = Field(
        default=None,
        description=(
            'Factory that builds a `ReplayBuffer(service_backend="ray")`. The driver calls the factory once. '
            "Collectors write into the buffer. The training function gets the buffer as "
            "`collector.replay_buffer`, and iterating over `collector` yields None. The buffer ends with its "
            "driver. With `replayBuffer.checkpoint`, the next driver restores the content of the last "
            "checkpoint. Absent: the training function gets batches."
        ),
    )
    learners: Learners | None = Field(
        default=None,
        description=(
            "Policies that learn in their own actors. Collectors write each policy's frames to the replay actor of the "
            "policy's shard. Iterating over `collector` yields None. The driver publishes the learned weights as a new "
            "version. `driver.train` gets the learners as `run.learners`. Without `driver.train`, each policy learns "
            "once after each batch. Absent: the driver trains."
        ),
    )
    evaluation: Evaluation | None = Field(
        default=None,
        description=(
            "Evaluators: actors that play whole episodes with published weights while the fleet trains. With "
            "`launcher: RayCluster`, evaluators have separate pods. `status.evaluation` has the results. "
            "Absent: nothing is evaluated."
        ),
    )
    output: Output | None = Field(
        default=None,
        description=(
            "Folder and format in which the driver writes batches. Only for a fleet without `driver.train`, "
            "`driver.script` and `learners`."
        ),
    )
    ray: Ray = Field(default_factory=Ray, description="The Ray cluster that runs the collectors.")
    network_policy: NetworkPolicy | None = Field(
        default=None,
        description=(
            "A NetworkPolicy for the pods of this fleet. The pods reach each other. Other clients reach the pods only "
            "if you name them here. Absent: there is no NetworkPolicy."
        ),
    )
    update_strategy: UpdateStrategy = Field(
        default_factory=UpdateStrategy,
        description="How the operator applies a spec change after the fleet has delivered a batch.",
    )
    progress_deadline_seconds: PositiveDuration = Field(
        default=600,
        description=(
            "The driver must deliver the first batch within this many seconds. After this time the fleet is "
            "Stalled, but the operator does not end the run. If the operator has to "
            "free the pods, for example to suspend the fleet, the driver has the same time to end its batch."
        ),
    )
    suspend: bool = Field(
        default=False,
        description=(
            "True: the driver stops after the current batch, and writes a checkpoint if you set `driver.checkpoint`. "
            "Then the operator deletes all pods. If you set the field to false again, the run resumes."
        ),
    )
    when_finished: WhenFinished = Field(
        default=WhenFinished.DELETE,
        description=(
            "Delete: the operator deletes the RayCluster of a completed or failed fleet. Keep: the RayCluster stays "
            "for inspection."
        ),
    )
    ttl_seconds_after_finished: Duration | None = Field(
        default=None,
        description=(
            "This many seconds after the end of the run, the operator deletes the driver's Job with its pods and logs. "
            "The operator also deletes the objects that `whenFinished` kept. The CollectorFleet and its status stay. "
            "Absent: the objects stay until the CollectorFleet is deleted."
        ),
    )
    active_deadline_seconds: PositiveDuration | None = Field(
        default=None,
        description=(
            "Seconds from the start of the driver's Job. If the driver still runs after this time, the operator ends "
            "the driver, and the fleet fails."
        ),
    )
    startup_deadline_seconds: PositiveDuration | None = Field(
        default=None,
        description=(
            "Seconds from the creation of the driver's Job. If the driver has delivered no batch after this time, the "
            "operator ends the driver, and the fleet fails."
        ),
    )
    idle_timeout_seconds: PositiveDuration | None = Field(
        default=None,
        description=(
            "If the driver hands out no batch for this many seconds, the operator suspends the fleet, as with "
            "`suspend`. Any spec change resumes the fleet."
        ),
    )
    backoff_limit: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=6,
        description=(
            "Number of times that a lost driver is restarted before the fleet fails. Evicted or preempted driver pods "
            "do not count."
        ),
    )

    @property
    def has_ray(self) -> bool:
        """Return whether the collectors run in Ray."""
        return self.launcher is Launcher.RAY_CLUSTER

    @property
    def takes_environment_parameters(self) -> bool:
        """Return whether environments accept new parameters while the fleet runs."""
        return self.driver.curriculum is not None or (
            self.environment is not None and self.environment.parameters is not None
        )

    @property
    def frames_per_step(self) -> int:
        """Return the number of environments of one collector that step together.

        The frames of a share are a multiple of this number.
        """
        in_step = self.collectors.collector_class is CollectorClass.SYNC
        environments = self.environment.per_collector if self.environment else 1
        return environments * (self.collectors.num_workers_per_collector if in_step else 1)

    @property
    def fixed_shares(self) -> int | None:
        """Return the number of shares of a Sync batch that the spec sets. None means one share for each collector."""
        stragglers = self.collection.stragglers
        return (stragglers.first_shares if stragglers else None) or self.collection.shares

    @property
    def group_names(self) -> tuple[str, ...]:
        """Return the names of the groups of worker pods, in order. A fleet without groups has one group."""
        return tuple(group.name for group in self.collectors.groups) or (WORKER_GROUP,)

    def of_group(self, name: str) -> CollectorFleetSpec:
        """Return the spec of one group's collectors: the fleet's spec with the fields that the group sets.

        ``workers.template`` is the fleet's template. The operator merges the group's template when it builds pods.
        Without groups, return the spec unchanged.
        """
        collectors, environment = self.collectors, self.environment
        if not collectors.groups:
            return self
        group = next(one for one in collectors.groups if one.name == name)
        own = group.environment
        if environment is not None and own.factory is not None:
            said = {"factory": own.factory, "kwargs": own.kwargs, "process": own.process}
            environment = environment.model_copy(update=said)
        elif environment is not None:
            said = {"kwargs": {**environment.kwargs, **own.kwargs}, "process": own.process or environment.process}
            environment = environment.model_copy(update=said)
        changed = {
            "replicas": collectors.group_sizes[name],
            "resources": over(collectors.resources, group.resources),
            "devices": over(collectors.devices, group.devices),
            "groups": [],
        }
        pods = {
            "gpu": group.workers.gpu,
            "collectors_per_pod": group.workers.collectors_per_pod,
            "custom_per_pod": group.workers.custom_per_pod,
        }
        return self.model_copy(
            update={
                "environment": environment,
                "collectors": collectors.model_copy(update=changed),
                "workers": self.workers.model_copy(
                    update={field: value for field, value in pods.items() if value is not None}
                ),
            }
        )

    @property
    def worker_groups(self) -> dict[str, WorkerGroup]:
        """Return the requested collectors and resources of each group of worker pods, by name."""
        return {name: self.of_group(name).worker_group for name in self.group_names}

    @property
    def evaluator_pods(self) -> Packing | Refusal | None:
        """Return how evaluators are packed into their own pods, or None if the fleet has no evaluator pods."""
        if self.evaluation is None or not self.has_ray:
            return None
        return pack_evaluators(self.evaluation.replicas, self.evaluation.resources.gpu, self.workers.gpu.per_pod)

    @property
    def worker_group(self) -> WorkerGroup:
        """Return the requested collectors and resources of the worker pods. Fields of groups are ignored."""
        return WorkerGroup(
            replicas=self.collectors.replicas,
            gpu=self.collectors.resources.gpu,
            gpus_per_pod=self.workers.gpu.per_pod,
            collectors_per_pod=self.workers.collectors_per_pod,
            custom=CustomResources(self.collectors.resources.custom or {}, self.workers.custom_per_pod or {}),
        )
