"""How worker pods get their GPUs, by ``spec.workers.gpu.mode``, and whether a container asks for some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from collectorfleet_api.v1alpha1.gpus import GpuMode, WorkersGpu
from collectorfleet_operator.objects import Object

GPU_RESOURCE: Final = "nvidia.com/gpu"
_NVIDIA: Final = "nvidia.com/"
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


def requests_gpus(container: Object) -> bool:
    """Whether it has a claim or a limit of NVIDIA's device plugin; a user's template may have put anything there."""
    resources = container.get("resources")
    if not isinstance(resources, Mapping):
        return False
    limits = resources.get("limits")
    asked = limits if isinstance(limits, Mapping) else {}
    given = any(name.startswith(_NVIDIA) and str(amount) != "0" for name, amount in asked.items())
    return given or bool(resources.get("claims"))
