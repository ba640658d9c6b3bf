"""``spec.workers.gpu``: the kind of GPU in worker pods, and how pods get GPUs."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model, Positive
from collectorfleet_api.v1alpha1.types import ExtendedResource, ObjectName


class GpuMode(StrEnum):
    """How GPUs are divided among worker pods."""

    LOGICAL = "Logical"
    MIG = "MIG"
    TIME_SLICING = "TimeSlicing"
    MPS = "MPS"
    DRA = "DRA"
    NONE = "None"


class WorkersGpu(Model):
    mode: GpuMode = Field(
        default=GpuMode.LOGICAL,
        description=(
            "Kind of GPU in worker pods. Logical: a whole GPU. MIG: a MIG slice, named by `resource`. "
            "TimeSlicing, MPS: a replica of a GPU that the device plugin offers. DRA: a device of "
            "`claimTemplate`. None: GPUs that `template` requests. In each mode, collectors share the GPUs "
            "of their pod, and `collectors.resources.gpu` sets the number of GPUs of each collector."
        ),
    )
    per_pod: Positive = Field(
        default=1, le=64, description="Number of GPUs of one worker pod, if its collectors request GPUs."
    )
    resource: ExtendedResource | None = Field(
        default=None,
        description=(
            "The extended resource that worker pods request, such as nvidia.com/mig-1g.10gb or nvidia.com/gpu.shared. "
            "MIG requires this field. In other modes, the default is nvidia.com/gpu."
        ),
    )
    claim_template: ObjectName | None = Field(
        default=None,
        description=(
            "ResourceClaimTemplate in the fleet's namespace. The template must request `perPod` devices. "
            "Required with DRA, which Kubernetes enables by default from 1.34."
        ),
    )
