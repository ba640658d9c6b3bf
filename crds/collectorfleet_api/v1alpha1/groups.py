"""``spec.collectors.groups[]``: groups of collectors with different settings, each on its own worker pods.

A field that a group leaves out has the fleet's value.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model, Positive
from collectorfleet_api.v1alpha1.devices import Devices
from collectorfleet_api.v1alpha1.gpus import WorkersGpu
from collectorfleet_api.v1alpha1.process import Process
from collectorfleet_api.v1alpha1.types import (
    Cpu,
    CustomAmounts,
    CustomPerPod,
    GroupName,
    ImportPath,
    Memory,
    PodTemplate,
    Preserved,
)

# No known fleet needs more groups. Each group costs objects, watches and rows of the status. Kueue allows fewer groups
# (docs/queues.md).
MOST_GROUPS: Final = 17

_Part = TypeVar("_Part", bound=Model)


class GroupEnvironment(Model):
    factory: ImportPath | None = Field(
        default=None,
        description=(
            "Import path of the callable that builds the environment. Absent: the factory of `spec.environment`."
        ),
    )
    kwargs: Preserved = Field(
        default_factory=dict,
        description=(
            "Keyword arguments of the factory. They override the arguments of `spec.environment`, key by key. If you "
            "set `factory` here, the factory gets only these arguments."
        ),
    )
    process: Process | None = Field(
        default=None,
        description=(
            "The simulator of this environment. Absent: the simulator of `spec.environment`, or none if you set "
            "`factory` here."
        ),
    )


class GroupResources(Model):
    """Resources of one collector that differ from the fleet's."""

    cpu: Cpu | None = Field(default=None, description="CPU of one collector.")
    memory: Memory | None = Field(default=None, description="Memory of one collector.")
    gpu: Annotated[float, Field(ge=0, le=64)] | None = Field(
        default=None, description="GPUs of one collector, as in `collectors.resources.gpu`."
    )
    custom: CustomAmounts | None = Field(
        default=None,
        description=(
            "Ray custom resources of one collector. They replace the fleet's custom resources. {}: no custom resources."
        ),
    )


class GroupWorkers(Model):
    """The pods of a group."""

    gpu: WorkersGpu | None = Field(
        default=None,
        description=(
            "How pods of the group get GPUs. This field replaces all of `spec.workers.gpu`. Absent: as in "
            "`spec.workers.gpu`."
        ),
    )
    collectors_per_pod: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="Number of collectors in one pod of the group. Absent: as in `spec.workers`."
    )
    custom_per_pod: CustomPerPod | None = Field(
        default=None,
        description="All Ray custom resources of one pod of the group. Absent: as in `spec.workers`.",
    )
    template: PodTemplate = Field(
        default_factory=dict,
        description="Partial pod template. The operator merges this template over `spec.workers.template`.",
    )


class Group(Model):
    name: GroupName = Field(
        description=(
            "Name of the group in the spec and in `status`. The group's worker group in the RayCluster has the same "
            "name. Use lower-case letters, digits and '-'. The name `head` is reserved."
        )
    )
    replicas: Positive = Field(
        default=1,
        le=10_000,
        description=(
            "Number of collectors of the group, out of the total `collectors.replicas`. If the total changes, for "
            "example by `kubectl scale`, the groups divide the total in the proportion of these numbers. Each group "
            "has at least one collector if there are enough collectors."
        ),
    )
    environment: GroupEnvironment = Field(
        default_factory=GroupEnvironment,
        description=(
            "The environment of the group's collectors. The frames of all groups must have the same entries. In mode "
            "Sync, the shapes and dtypes must be the same, too."
        ),
    )
    resources: GroupResources = Field(
        default_factory=GroupResources, description="Overrides `collectors.resources`, field by field."
    )
    devices: Devices = Field(default_factory=Devices, description="Overrides `collectors.devices`, field by field.")
    workers: GroupWorkers = Field(default_factory=GroupWorkers, description="The pods of the group.")


def over(fleets: _Part, own: Model) -> _Part:
    """Return a copy of ``fleets``, a part of a fleet. Fields that are set in ``own`` replace the fleet's fields."""
    said = {name: getattr(own, name) for name in type(own).model_fields}
    return fleets.model_copy(update={name: value for name, value in said.items() if value is not None})
