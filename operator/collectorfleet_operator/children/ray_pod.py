"""What the pods of head and workers have in common: KubeRay starts Ray in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.code import import_code_first
from collectorfleet_operator.children.pod_template import PodRole, pod_template
from collectorfleet_operator.objects import Object

# Nothing in these pods is worth waiting for, and `ray start --block` below a shell never sees the signal.
_GRACE_SECONDS: Final = 5


def ray_pod_template(
    fleet: CollectorFleet, role: PodRole, container: Object, user: Mapping[str, Any], *, gpus: int, **pod: Any
) -> Object:
    """As :func:`pod_template` has it; ``pod`` are further fields of its spec."""
    before_ray_start = import_code_first(fleet)
    if before_ray_start:
        # KubeRay runs a container's own command before its `ray start`, in the same shell.
        container = {**container, "command": [before_ray_start]}
    return pod_template(
        fleet,
        role,
        container,
        user,
        gpus=gpus,
        automountServiceAccountToken=False,
        terminationGracePeriodSeconds=_GRACE_SECONDS,
        **pod,
    )
