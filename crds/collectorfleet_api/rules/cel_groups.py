"""The rules about groups, in CEL: what ``groups`` says in Python.

``self`` is the spec and ``g`` a group; what a group does not say is the fleet's. A rule about the fleet is made one
about each group by what stands there in the place of the fleet's field.
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


# What is said of the fleet, and what of a group.
_PLACES: Final = (
    *(_device(str(field.alias)) for field in Devices.model_fields.values()),
    (_ASKED, _own("g.resources.gpu", _ASKED)),
)


def of_each_group(rule: str) -> str:
    """That ``rule``, about the fleet's packing or its devices, holds for every group."""
    for fleets, groups in (
        *_PLACES,
        (f"!has({_COLLECTORS_PER_POD})", f"!(has(g.workers.collectorsPerPod) || has({_COLLECTORS_PER_POD}))"),
        (_PER_POD, f"(has(g.workers.gpu) ? g.workers.gpu.perPod : {_PER_POD})"),
    ):
        rule = rule.replace(fleets, groups)
    rule = rule.replace(f"|| {_COLLECTORS_PER_POD} ", f"|| {_own('g.workers.collectorsPerPod', _COLLECTORS_PER_POD)} ")
    return f"!has({_GROUPS}) || {_GROUPS}.all(g, {rule})"


def _of_own_gpu(rule: str) -> str:
    """That ``rule``, about ``workers.gpu``, holds where a group has its own."""
    return f"!has({_GROUPS}) || {_GROUPS}.all(g, !has(g.workers.gpu) || ({rule.replace(_GPU, 'g.workers.gpu')}))"


# By the sentence, which the rule about the fleet has too.
GROUP_COMBINATIONS: Final = {
    one.sentence: (_of_own_gpu(one.cel) if one in PODS else of_each_group(one.cel)) for one in OF_A_GROUP
}

# Below, `self` is `spec.collectors`.
_OLD: Final = "oldSelf.value().groups"
# Term by term: the API server takes what `map(...).sum()` may cost, and an old list, for without bound.
_TOTAL: Final = f"({'+'.join(f'(self.groups.size()>{n}?self.groups[{n}].replicas:0)' for n in range(MOST_GROUPS))})"
# A fleet is created, or its groups change, with all of them in the total; scaling then is anybody's.
TOTAL: Final = (
    f"!has(self.groups) || self.groups.size() == 0 || {_TOTAL} == self.replicas"
    f" || (oldSelf.hasValue() && has({_OLD}) && {_OLD}.size() == self.groups.size()"
    f" && {list(range(MOST_GROUPS))}.all(n, n >= self.groups.size()"
    f" || ({_OLD}[n].name == self.groups[n].name && {_OLD}[n].replicas == self.groups[n].replicas)))"
)
TOTAL_SENTENCE: Final = (
    "groups have another number of collectors together than collectors.replicas; set it to their sum"
)
TOTAL_TOLD: Final = (
    f"'%d, and groups have %d together; set it to their sum, or change them'.format([self.replicas, {_TOTAL}])"
)
NOT_HEAD: Final = f"!has({_GROUPS}) || !{_GROUPS}.exists(g, g.name in {list(HEADS)})"
NOT_HEAD_SENTENCE: Final = "head and headgroup are names of the pods of the Ray head; use another name"
