"""How worker pods get their GPUs, by ``spec.workers.gpu.mode``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from collectorfleet_api.v1alpha1.gpus import GpuMode, WorkersGpu
from collectorfleet_operator.objects import Object

GPU_RESOURCE: Final = "nvidia.com/gpu"
_CLAIM: Final = "gpus"


@dataclass(frozen=True)
class GpuRequest:
    """What a pod's container asks for: ``limits``, and ``claims`` of which the pod has the ``pod_claims``."""

    limits: dict[str, Any] = field(default_factory=dict)
    claims: list[Object] = field(default_factory=list)
    pod_claims: list[Object] = field(default_factory=list)


def request_gpus(gpu: WorkersGpu, count: int) -> GpuRequest:
    """``count`` GPUs of one worker pod. With mode None the user's template asks for them."""
    match gpu.mode:
        case _ if not count:
            return GpuRequest()
        case GpuMode.NONE:
            return GpuRequest()
        case GpuMode.DRA:
            claim = {"name": _CLAIM, "resourceClaimTemplateName": gpu.claim_template}
            return GpuRequest(claims=[{"name": _CLAIM}], pod_claims=[claim])
        case _:
            return GpuRequest(limits={gpu.resource or GPU_RESOURCE: count})
