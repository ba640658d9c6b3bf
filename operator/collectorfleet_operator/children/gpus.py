"""The GPU requests of worker pods for each ``spec.workers.gpu.mode``, and a check whether a container requests GPUs."""

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
    """A container's ``limits`` and ``claims``. The ``claims`` refer to the pod's ``pod_claims``."""

    limits: dict[str, Any] = field(default_factory=dict)
    claims: list[Object] = field(default_factory=list)
    pod_claims: list[Object] = field(default_factory=list)


def request_gpus(gpu: WorkersGpu, count: int) -> GpuRequest:
    """Return the request for ``count`` GPUs of one worker pod.

    With mode None, the user's template requests the GPUs.
    """
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
    """Return whether the container has a resource claim, or a limit for NVIDIA's device plugin.

    The user's template may have set these fields to values of any type.
    """
    resources = container.get("resources")
    if not isinstance(resources, Mapping):
        return False
    limits = resources.get("limits")
    asked = limits if isinstance(limits, Mapping) else {}
    given = any(name.startswith(_NVIDIA) and str(amount) != "0" for name, amount in asked.items())
    return given or bool(resources.get("claims"))
