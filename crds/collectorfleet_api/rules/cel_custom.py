"""The CEL rules about custom resources of Ray. ``packing.custom`` has the same rules in Python.

``self`` is the spec and ``g`` a group. A field that a group leaves out has the fleet's value. Only ``custom_resources``
checks names, in Python. A pattern in CEL would be too costly. Keys have no maximum length, so the API server estimates
the cost by the longest key that fits into a request.
"""

from __future__ import annotations

from typing import Final

_GROUPS: Final = "self.collectors.groups"
_COLLECTORS_PER_POD: Final = "self.workers.collectorsPerPod"


def _or_none(there: str, otherwise: str = "{}") -> str:
    return f"(has({there}) ? {there} : {otherwise})"


_ASKED: Final = _or_none("self.collectors.resources.custom")
_PER_POD: Final = _or_none("self.workers.customPerPod")


def _is_enough(asked: str, per_pod: str) -> str:
    return f"(k in {per_pod} && {asked}[k] <= double({per_pod}[k]))"


def _fit(asked: str, per_pod: str, collectors: str) -> str:
    """Return the CEL that checks that the collectors fit.

    The CEL multiplies, because a division by 0 is an error that would hide the schema's message.
    """
    units = f"int({asked}[k] * 10000.0 + 0.5)"
    return f"(!(k in {per_pod}) || {asked}[k] > double({per_pod}[k]) || {collectors} * {units} <= {per_pod}[k] * 10000)"


def _first(rule: str, told: str) -> str:
    """Return the CEL for the message about the first resource that breaks ``rule``."""
    return f"{_ASKED}.filter(k, !{rule}).map(k, {told})[0]"


ENOUGH: Final = f"{_ASKED}.all(k, {_is_enough(_ASKED, _PER_POD)})"
ENOUGH_SENTENCE: Final = (
    "a collector requests more of a custom resource than a worker pod has; raise workers.customPerPod, or request less"
)
ENOUGH_MESSAGE_EXPRESSION: Final = _first(
    _is_enough(_ASKED, _PER_POD),
    "'a collector requests %s %s, but a worker pod has %d (workers.customPerPod); raise this amount to at least %d, or "
    f"request less'.format([{_ASKED}[k], k, k in {_PER_POD} ? {_PER_POD}[k] : 0, int({_ASKED}[k] + 0.9999)])",
)

_FITTING: Final = f"{_PER_POD}[k] * 10000 / int({_ASKED}[k] * 10000.0 + 0.5)"
FIT: Final = f"!has({_COLLECTORS_PER_POD}) || {_ASKED}.all(k, {_fit(_ASKED, _PER_POD, _COLLECTORS_PER_POD)})"
FIT_SENTENCE: Final = (
    "a worker pod has too little of a custom resource for so many collectors; lower collectorsPerPod or raise "
    "workers.customPerPod"
)
FIT_MESSAGE_EXPRESSION: Final = _first(
    _fit(_ASKED, _PER_POD, _COLLECTORS_PER_POD),
    "'%d collectors of %s %s do not fit on a worker pod with %d %s; use at most %d, or raise "
    f"workers.customPerPod'.format([{_COLLECTORS_PER_POD}, {_ASKED}[k], k, {_PER_POD}[k], k, {_FITTING}])",
)

_OWN_ASKED: Final = _or_none("g.resources.custom", _ASKED)
_OWN_PER_POD: Final = _or_none("g.workers.customPerPod", _PER_POD)
_OWN_COLLECTORS: Final = _or_none("g.workers.collectorsPerPod", _or_none(_COLLECTORS_PER_POD, "1"))
ENOUGH_IN_GROUPS: Final = (
    f"!has({_GROUPS}) || {_GROUPS}.all(g, {_OWN_ASKED}.all(k, {_is_enough(_OWN_ASKED, _OWN_PER_POD)}))"
)
FIT_IN_GROUPS: Final = (
    f"!has({_GROUPS}) || {_GROUPS}.all(g, {_OWN_ASKED}.all(k, {_fit(_OWN_ASKED, _OWN_PER_POD, _OWN_COLLECTORS)}))"
)

# Below, `self` is the custom resources of one collector. For whole numbers, the API server treats a minimum of 0.0001
# as 0. So this rule refuses 0.
ABOVE_ZERO: Final = "self.all(k, self[k] > 0.0)"
ABOVE_ZERO_SENTENCE: Final = "0 is too small; use 0.0001 or more"
_COARSE: Final = (
    "self[k] * 10000.0 - double(int(self[k] * 10000.0 + 0.5)) < 0.000001"
    " && double(int(self[k] * 10000.0 + 0.5)) - self[k] * 10000.0 < 0.000001"
)
COARSE: Final = f"self.all(k, {_COARSE})"
COARSE_SENTENCE: Final = "finer than 0.0001, the smallest step that Ray counts; use at most four decimals"
COARSE_MESSAGE_EXPRESSION: Final = (
    f"self.filter(k, !({_COARSE})).map(k, '%s of %s is {COARSE_SENTENCE}'.format([self[k], k]))[0]"
)
