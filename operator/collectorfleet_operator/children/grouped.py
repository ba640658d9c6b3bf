"""A fleet as one of its groups has it: what its worker pods are made from. Pure."""

from __future__ import annotations

from typing import Any

from collectorfleet_api.v1alpha1 import CollectorFleet, CollectorFleetSpec
from collectorfleet_operator.children.merge import overlaid


def spec_of_group(spec: CollectorFleetSpec, name: str) -> CollectorFleetSpec:
    """The spec with what the group says in the place of what the fleet says, its pod template over the fleet's.

    That of a fleet without groups is the same.
    """
    found, own = spec.of_group(name), templates_of_groups(spec).get(name)
    if not own:
        return found
    template = overlaid(found.workers.template, own)
    return found.model_copy(update={"workers": found.workers.model_copy(update={"template": template})})


def fleet_of_group(fleet: CollectorFleet, name: str) -> CollectorFleet:
    """The fleet with that spec."""
    return fleet.model_copy(update={"spec": spec_of_group(fleet.spec, name)})


def templates_of_groups(spec: CollectorFleetSpec) -> dict[str, dict[str, Any]]:
    """What each group says itself of its pods; empty without groups."""
    return {group.name: group.workers.template for group in spec.collectors.groups}
