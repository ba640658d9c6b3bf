"""The CEL rules about groups. ``groups`` has the same rules in Python.

``self`` is the spec and ``g`` a group. A field that a group leaves out has the fleet's value. A rule checks each group
like the fleet, with the group's fields in place of the fleet's fields.
"""

from __future__ import annotations

from typing import Final

from collectorfleet_api.rules.combinations.resources import OF_A_GROUP, PODS
from collectorfleet_api.rules.groups import HEADS
from collectorfleet_api.v1alpha1.devices import Devices
from collectorfleet_api.v1alpha1.groups import MOST_GROUPS

_GROUPS: Final = "self.collectors.groups"
_ASKED: Final = "self.collectors.resources.gpu"
_PER_POD: Final = "self.workers.gpu.perPod"
_GPU: Final = "self.workers.gpu"
_COLLECTORS_PER_POD: Final = "self.workers.collectorsPerPod"


def _own(there: str, fleets: str) -> str:
    return f"(has({there}) ? {there} : {fleets})"


def _device(name: str) -> tuple[str, str]:
    fleets = f"(has(self.collectors.devices.{name}) ? [self.collectors.devices.{name}] : [])"
    return fleets, f"(has(g.devices.{name}) ? [g.devices.{name}] : {fleets})"


# CEL of a fleet's field, and the CEL of the group's field that replaces it.
_PLACES: Final = (
    *(_device(str(field.alias)) for field in Devices.model_fields.values()),
    (_ASKED, _own("g.resources.gpu", _ASKED)),
)


def of_each_group(rule: str) -> str:
    """Return CEL that applies ``rule`` to every group. ``rule`` is about the fleet's packing or devices."""
    for fleets, groups in (
        *_PLACES,
        (f"!has({_COLLECTORS_PER_POD})", f"!(has(g.workers.collectorsPerPod) || has({_COLLECTORS_PER_POD}))"),
        (_PER_POD, f"(has(g.workers.gpu) ? g.workers.gpu.perPod : {_PER_POD})"),
    ):
        rule = rule.replace(fleets, groups)
    rule = rule.replace(f"|| {_COLLECTORS_PER_POD} ", f"|| {_own('g.workers.collectorsPerPod', _COLLECTORS_PER_POD)} ")
    return f"!has({_GROUPS}) || {_GROUPS}.all(g, {rule})"


def _of_own_gpu(rule: str) -> str:
    """Return CEL that applies ``rule`` to every group with its own ``workers.gpu``.

    ``rule`` is about ``workers.gpu``.
    """
    return f"!has({_GROUPS}) || {_GROUPS}.all(g, !has(g.workers.gpu) || ({rule.replace(_GPU, 'g.workers.gpu')}))"


# The rules by sentence. The rule about the fleet has the same sentence.
GROUP_COMBINATIONS: Final = {
    one.sentence: (_of_own_gpu(one.cel) if one in PODS else of_each_group(one.cel)) for one in OF_A_GROUP
}

# Below, `self` is `spec.collectors`.
_OLD: Final = "oldSelf.value().groups"
# The sum has one term for each group, because the API server cannot bound the cost of `map(...).sum()` or of an old
# list.
_TOTAL: Final = f"({'+'.join(f'(self.groups.size()>{n}?self.groups[{n}].replicas:0)' for n in range(MOST_GROUPS))})"
# The total has to be right when the fleet is created or its groups change. Later, anyone may scale the fleet.
TOTAL: Final = (
    f"!has(self.groups) || self.groups.size() == 0 || {_TOTAL} == self.replicas"
    f" || (oldSelf.hasValue() && has({_OLD}) && {_OLD}.size() == self.groups.size()"
    f" && {list(range(MOST_GROUPS))}.all(n, n >= self.groups.size()"
    f" || ({_OLD}[n].name == self.groups[n].name && {_OLD}[n].replicas == self.groups[n].replicas)))"
)
TOTAL_SENTENCE: Final = (
    "the replicas of the groups do not add up to collectors.replicas; set collectors.replicas to their sum"
)
TOTAL_MESSAGE_EXPRESSION: Final = (
    "'%d, but the groups have %d in total; set replicas to their sum, or change the groups'.format([self.replicas, "
    f"{_TOTAL}])"
)
NOT_HEAD: Final = f"!has({_GROUPS}) || !{_GROUPS}.exists(g, g.name in {list(HEADS)})"
NOT_HEAD_SENTENCE: Final = '"head" and "headgroup" are names of the pods of the Ray head; use another name'
