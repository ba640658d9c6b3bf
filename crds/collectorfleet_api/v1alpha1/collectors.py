"""``spec.collectors``: the remote collectors, their resources and their groups."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.packing.groups import split, turns
from collectorfleet_api.v1alpha1.base import Model, Positive, Seconds
from collectorfleet_api.v1alpha1.devices import Devices
from collectorfleet_api.v1alpha1.factory import Factory
from collectorfleet_api.v1alpha1.groups import MOST_GROUPS, Group
from collectorfleet_api.v1alpha1.types import (
    BY_NAME,
    Cpu,
    CustomAmounts,
    ImportPath,
    Memory,
    NumberOrPercentage,
    Preserved,
)


class CollectorClass(StrEnum):
    SINGLE = "Single"
    SYNC = "Sync"
    ASYNC = "Async"


class OnEnvironmentError(StrEnum):
    FAIL = "Fail"
    RESTART = "Restart"


class Requests(Model):
    """CPU and memory of the driver or of one collector, as Kubernetes quantities."""

    cpu: Cpu = Field(default=1, description="CPU, a Kubernetes quantity such as 2, 0.5 or 500m.")
    memory: Memory = Field(default="2Gi", description="Memory, a Kubernetes quantity such as 2Gi.")


class Resources(Requests):
    gpu: float = Field(
        default=0.0,
        ge=0,
        le=64,
        description="Number of GPUs: a share of one GPU from 0.0001 to 1, or whole GPUs.",
    )
    custom: CustomAmounts | None = Field(
        default=None,
        description=(
            "Amount of each Ray custom resource, such as `simulator_license: 1`. The smallest amount is 0.0001. "
            "`workers.customPerPod` sets the amounts of a pod. Absent: none."
        ),
    )


class Collectors(Model):
    replicas: Positive = Field(
        default=1,
        le=10_000,
        description="Number of collectors (not pods) in all groups. The scale subresource sets this field.",
    )
    min_available: NumberOrPercentage = Field(
        default=1,
        description=(
            "Until the run completes, the fleet is Ready only while at least this many collectors have "
            "acknowledged weights. Set a number, or a percentage of `replicas` such as 75%, rounded up. The "
            "number is at most `replicas`."
        ),
    )
    resources: Resources = Field(
        default_factory=Resources,
        description=(
            "Resources of one collector with all of its processes. A worker pod requests the resources of its "
            "collectors. For Ray, the pod also requests 200m CPU, 768Mi of memory, and 256Mi for each collector. "
            "The memory request is also the memory limit. Torch uses as many threads as the collector has CPUs, "
            "rounded up."
        ),
    )
    collector_class: CollectorClass = Field(
        default=CollectorClass.SINGLE,
        alias="class",
        description=(
            "TorchRL class of a collector. Single: one process. Sync: `numWorkersPerCollector` processes, whose "
            "frames form one batch. Async: the same number of processes, and each batch comes from one of them."
        ),
    )
    num_workers_per_collector: Positive = Field(
        default=1,
        le=1000,
        description=(
            "Number of processes of one collector. Each process has its own environments. Needs `class` Sync or Async."
        ),
    )
    devices: Devices = Field(
        default_factory=Devices,
        description=(
            "Devices of a collector's tensors. Absent: the factories choose the devices, which may be the CPU."
        ),
    )
    no_cuda_sync: bool | None = Field(
        default=None,
        description=(
            "True: the collector does not wait for CUDA between steps. Absent: TorchRL decides, depending on the "
            "devices."
        ),
    )
    pre_collect_hook: ImportPath | None = Field(
        default=None,
        description="Import path of a function that a collector calls, without arguments, before each batch.",
    )
    post_collect_hook: ImportPath | None = Field(
        default=None, description="Import path of a function that a collector calls with each batch that it collected."
    )
    kwargs: Preserved = Field(
        default_factory=dict,
        description=(
            "Extra keyword arguments of TorchRL's collector. Arguments that have a field in this spec are refused."
        ),
    )
    request_timeout_seconds: Seconds = Field(
        default=60,
        description=(
            "Maximum seconds for one request. A collector that takes longer counts as hung and is restarted. The "
            "limit grows if past requests took long."
        ),
    )
    first_request_timeout_seconds: Seconds = Field(
        default=300,
        description=(
            "Maximum seconds for the first request of a collector. This time includes building environment and "
            "policy, loading the first weights, and compiling."
        ),
    )
    available_timeout_seconds: Seconds = Field(
        default=600,
        description=(
            "If fewer than `minAvailable` collectors are available for this many seconds, the driver ends with an "
            "error."
        ),
    )
    on_environment_error: OnEnvironmentError = Field(
        default=OnEnvironmentError.FAIL,
        description=(
            "Effect of an exception in an environment. Fail: the run ends with the exception. Restart: the collector "
            "is restarted, which uses up one of its restarts. The run fails if fewer than `minAvailable` collectors "
            "have restarts left."
        ),
    )
    failure_policy: Factory | None = Field(
        default=None,
        description=(
            "Factory that builds an object with the method `decide(loss)`. `loss` describes a lost collector, or a "
            "collector whose environment raised an exception. The method returns `Replace`, `GiveUp` or `Fail`. The "
            "driver calls the factory once. Absent: a collector restarts with exponential backoff, up to 10 times. "
            "After ten minutes of work, the count of restarts is 0 again. If a collector's node is lost, the collector "
            "restarts at once."
        ),
    )
    scaling_policy: Factory | None = Field(
        default=None,
        description=(
            "Factory that builds an object with the method `leaving(collectors, count)`. When the fleet shrinks, this "
            "method chooses the collectors that end. The driver calls the factory once. Absent: the driver chooses "
            "collectors so that whole pods become empty. With `launcher: Job`, the collectors with the highest indexes "
            "end. In this case, omit `scalingPolicy`."
        ),
    )
    groups: list[Group] = Field(
        default_factory=list,
        max_length=MOST_GROUPS,
        description=(
            "Named groups of collectors with their own environment, resources, devices or pods. `collectors.replicas` "
            "is the total of all groups. Absent: all collectors are alike."
        ),
        json_schema_extra=BY_NAME,
    )

    @property
    def group_sizes(self) -> dict[str, int]:
        """Return the number of collectors of each group, or an empty mapping without groups."""
        return split(self.replicas, self._parts)

    @property
    def group_turns(self) -> tuple[str, ...]:
        """Return the groups of the collectors ``c0``, ``c1``, ..., or an empty tuple without groups.

        The sequence repeats if there are more collectors.
        """
        return turns(self._parts)

    @property
    def _parts(self) -> dict[str, int]:
        return {group.name: group.replicas for group in self.groups}

    @property
    def fewest_available(self) -> int:
        """Return ``min_available`` as a number of collectors, at most ``replicas``. A percentage is rounded up."""
        asked = self.min_available
        if isinstance(asked, str):
            asked = -(-self.replicas * int(asked.removesuffix("%")) // 100)
        return min(asked, self.replicas)
