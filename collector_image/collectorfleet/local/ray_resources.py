"""What a Ray of this machine alone has, in the place of all worker pods together. Pure."""

from __future__ import annotations

from collections import Counter

from collectorfleet_api.names import COLLECTOR_RESOURCE, group_resource
from collectorfleet_api.packing.pods import pack_groups
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.v1alpha1 import CollectorFleetSpec


def ray_resources(spec: CollectorFleetSpec) -> dict[str, int]:
    """A slot for each collector, slots of each group, and the custom resources that pods of its size would have.

    The spec is one that can be packed, as every validated one is.
    """
    found = Counter({COLLECTOR_RESOURCE: spec.collectors.replicas})
    found.update({group_resource(name): size for name, size in spec.collectors.group_sizes.items()})
    packed = pack_groups(spec.worker_groups)
    for name, packing in {} if isinstance(packed, Refusal) else packed.items():
        per_pod = spec.of_group(name).workers.custom_per_pod or {}
        found.update({resource: packing.pods * count for resource, count in per_pod.items()})
    return dict(found)
