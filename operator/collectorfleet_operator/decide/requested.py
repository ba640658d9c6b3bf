"""The requests of an unschedulable pod, for each resource that the scheduler reports as insufficient. Pure.

The scheduler reports how many nodes have too little of a resource, but not how much the pod requests. An example is
``0/3 nodes are available: 3 Insufficient nvidia.com/gpu.`` A user can change the request, so the message names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from collectorfleet_api.packing.quantity import format_cpu, format_memory, parse_quantity
from collectorfleet_operator.objects import Object

_INSUFFICIENT: Final = re.compile(r"\bInsufficient (\S+?)[.,;:]?(?=\s|$)")
_IN_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")


def insufficient_requests(pod: Object, scheduler_words: str) -> str:
    """Return the requests for insufficient resources, in the scheduler's order: ``nvidia.com/gpu: 1, memory: 2Gi``."""
    short = dict.fromkeys(_INSUFFICIENT.findall(scheduler_words))
    return ", ".join(f"{name}: {_format(name)(request(pod, name))}" for name in short)


def request(pod: Object, resource: str) -> Fraction:
    """Return the amount of a resource that the pod needs on one node.

    All containers and sidecars (init containers with restartPolicy Always) run together. Each other init container
    runs only with the sidecars that began before it. A request of the pod as a whole replaces these sums.
    """
    spec = pod["spec"]
    staying, at_start = Fraction(0), Fraction(0)
    for container in spec.get("initContainers") or []:
        beside = staying + _of(container, resource)
        at_start = max(at_start, beside)
        if container.get("restartPolicy") == "Always":
            staying = beside
    staying += sum((_of(container, resource) for container in spec["containers"]), Fraction(0))
    whole = _request_of(spec, resource)
    found = max(staying, at_start) if whole is None else whole
    return found + parse_quantity((spec.get("overhead") or {}).get(resource, 0))


def _of(container: Object, resource: str) -> Fraction:
    return _request_of(container, resource) or Fraction(0)


def _request_of(part: Object, resource: str) -> Fraction | None:
    """Return the request of a container or a pod. A limit without a request counts as a request."""
    resources = part.get("resources") or {}
    for kind in ("requests", "limits"):
        amount = (resources.get(kind) or {}).get(resource)
        if amount is not None:
            return parse_quantity(amount)
    return None


def _format(resource: str) -> Callable[[Fraction], str]:
    if resource.startswith(_IN_BYTES):
        return format_memory
    # Extended resources are whole numbers.
    return format_cpu
