"""Rules for each group, and for all groups together. ``cel_groups`` has the same rules in CEL.

A group is checked as a fleet in which the group's fields replace the fleet's fields, so one rule is enough for fleet
and group. The path of a problem names the field of the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from collectorfleet_api.packing.pods import pack
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.rules.combinations.resources import OF_A_GROUP
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.templates import template_problems
from collectorfleet_api.v1alpha1.fleet import CollectorFleet
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

# The name of the head's pod set, and KubeRay's name of the head group. KubeRay finds the head's pods by the group's
# name.
HEADS: Final = ("head", "headgroup")
# Prefixes of a fleet's paths, and their replacements in a group.
_PLACES: Final = (("spec.collectors.", ""), ("spec.workers.", "workers."))


def group_problems(fleet: CollectorFleet) -> Iterator[Problem]:
    yield from _total(fleet)
    seen: set[str] = set()
    for index, group in enumerate(fleet.spec.collectors.groups):
        path = f"spec.collectors.groups[{index}]"
        if group.name in seen:
            yield Problem(f"{path}.name", f"{group.name} appears twice; name each group once")
        elif group.name in HEADS:
            yield Problem(f"{path}.name", f'"{group.name}" is a name of the pods of the Ray head; use another name')
        else:
            yield from _own(fleet.spec.of_group(group.name), path)
        seen.add(group.name)
        yield from template_problems(group.workers.template, f"{path}.workers.template")


def _total(fleet: CollectorFleet) -> Iterator[Problem]:
    collectors = fleet.spec.collectors
    # A stored fleet may be scaled to any number. The groups are then scaled in proportion.
    if not collectors.groups or fleet.metadata.uid is not None:
        return
    total = sum(group.replicas for group in collectors.groups)
    if total != collectors.replicas:
        shown = ", ".join(f"{group.name} {group.replicas}" for group in collectors.groups)
        yield Problem(
            "spec.collectors.replicas",
            f"{collectors.replicas}, but the groups have {total} in total ({shown}); set replicas to {total}, or "
            "change the groups",
        )


def _own(spec: CollectorFleetSpec, path: str) -> Iterator[Problem]:
    """Yield the problems of a group, whose fields are in ``spec``."""
    for combination in OF_A_GROUP:
        if not combination.holds(spec):
            yield Problem(place(combination.path, path), combination.message_for(spec))
    found = pack(spec.worker_group)
    if isinstance(found, Refusal):
        yield Problem(place(found.field, path), found.message)


def place(field: str, group: str) -> str:
    """Return the path of a fleet's ``field`` in the group at the path ``group``."""
    for fleets, groups in _PLACES:
        if field.startswith(fleets):
            return f"{group}.{groups}{field.removeprefix(fleets)}"
    return field
