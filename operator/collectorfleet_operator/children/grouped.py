"""The spec from which the operator makes the pods of one worker group. Pure."""

from __future__ import annotations

from typing import Any

from collectorfleet_api.v1alpha1 import CollectorFleet, CollectorFleetSpec
from collectorfleet_operator.children.merge import overlaid


def spec_of_group(spec: CollectorFleetSpec, name: str) -> CollectorFleetSpec:
    """Return the spec with the fields of the group, and the group's pod template merged over the fleet's template.

    The spec of a fleet without groups is returned unchanged.
    """
    found, own = spec.of_group(name), templates_of_groups(spec).get(name)
    if not own:
        return found
    template = overlaid(found.workers.template, own)
    return found.model_copy(update={"workers": found.workers.model_copy(update={"template": template})})


def fleet_of_group(fleet: CollectorFleet, name: str) -> CollectorFleet:
    """Return the fleet with :func:`spec_of_group` as its spec."""
    return fleet.model_copy(update={"spec": spec_of_group(fleet.spec, name)})


def templates_of_groups(spec: CollectorFleetSpec) -> dict[str, dict[str, Any]]:
    """Return the pod template of each group by name, or an empty mapping without groups."""
    return {group.name: group.workers.template for group in spec.collectors.groups}
