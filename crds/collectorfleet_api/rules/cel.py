"""The CEL rules that the API server checks on every write, by their place in the schema.

The rules agree with ``validation.problems`` as far as CEL can express them. No rule refuses a change by
``kubectl scale`` or an autoscaler. The rule that a Sync batch has equal shares applies when the fleet is created or the
batch changes. GPUs are counted in ten-thousandths, as in ``packing``.

``combinations`` has the rules that Python and CEL share, with one sentence each. This module has the other rules, for
which Python has separate code. Some rules compare with the object before the change, which Python does not have. Some
rules are about the name, which is outside the spec. Some rules are arithmetic: Python's messages have more numbers.
Some of these numbers, such as "5 or 8 collectors", are too costly to compute in CEL.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from collectorfleet_api.names import MAX_NAME_LENGTH, MAX_NAME_LENGTH_OF_A_JOB
from collectorfleet_api.object_names import SERVICE_NAME
from collectorfleet_api.rules import cel_custom, cel_groups
from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.rules.combinations.questions import FIRST_SHARES
from collectorfleet_api.rules.combinations.sinks import TRAIN_OR_OUTPUT
from collectorfleet_api.rules.combinations.table import COMBINATIONS


@dataclass(frozen=True)
class Rule:
    """A CEL expression that has to be true, and the message if it is false."""

    rule: str
    message: str
    with_numbers: str | None = None  # a CEL expression for the message; if the expression fails, `message` is used
    field: str | None = None  # relative to the rule's place in the schema
    on_create_too: bool = False  # the rule reads oldSelf, which is then an optional

    def to_schema(self) -> dict[str, Any]:
        """Return the rule as an entry of ``x-kubernetes-validations``."""
        found: dict[str, Any] = {"rule": self.rule, "message": self.message}
        if self.with_numbers:
            found["messageExpression"] = self.with_numbers
        if self.field:
            found["fieldPath"] = self.field
        if self.on_create_too:
            found["optionalOldSelf"] = True
        return found


_NAME = [
    Rule(
        f"self.metadata.name.size() <= {MAX_NAME_LENGTH}",
        f"metadata.name: at most {MAX_NAME_LENGTH} characters, because the fleet's Ray cluster has the same name",
        f"'metadata.name: %d characters are too many for the Ray cluster, which has the same name; "
        f"use at most {MAX_NAME_LENGTH}'.format([self.metadata.name.size()])",
    ),
    Rule(
        f"self.spec.launcher == 'RayCluster' || self.metadata.name.size() <= {MAX_NAME_LENGTH_OF_A_JOB}",
        f"metadata.name: at most {MAX_NAME_LENGTH_OF_A_JOB} characters with launcher Job, because the names of its "
        "pods begin with this name",
        f"'metadata.name: %d characters are too many for the pods of launcher Job, whose names begin with this name; "
        f"use at most {MAX_NAME_LENGTH_OF_A_JOB}'.format([self.metadata.name.size()])",
    ),
    Rule(
        f"self.metadata.name.matches('^{SERVICE_NAME}$')",
        "metadata.name: use lower-case letters, digits and '-', starting with a letter and not ending in '-', "
        "because Services are named after the fleet",
    ),
]

# Frames of one step of a collector. A share has to be a multiple of this number. The schema refuses 0 for the factors
# of this number. Rules also check for 0, because a division error would hide the schema's message.
_STEP = (
    "((has(self.environment) ? self.environment.perCollector : 1)"
    " * (self.collectors.class == 'Sync' ? self.collectors.numWorkersPerCollector : 1))"
)
_UNKNOWN_BATCH = "!has(self.collection.framesPerBatch)"  # a script sets this field
_FRAMES = "self.collection.framesPerBatch"
_WHOLE_STEPS = Rule(
    f"{_UNKNOWN_BATCH} || {_STEP} < 1 || {_FRAMES} % {_STEP} == 0",
    "framesPerBatch must be a multiple of the number of environments that step together: environment.perCollector, "
    "times collectors.numWorkersPerCollector for class Sync",
    "'%d is not a multiple of the %d environments of a collector that step together (environment.perCollector, "
    f"collectors.numWorkersPerCollector); use %d or %d'.format([{_FRAMES}, {_STEP}, {_FRAMES} - {_FRAMES} % {_STEP},"
    f" {_FRAMES} - {_FRAMES} % {_STEP} + {_STEP}])",
    field=".collection.framesPerBatch",
)

# The fields are optional. 0 means that the spec sets no number of shares.
_FIXED = (
    "(has(self.collection.shares) ? self.collection.shares"
    " : has(self.collection.stragglers) && has(self.collection.stragglers.firstShares)"
    " ? self.collection.stragglers.firstShares : 0)"
)
_NUMBER_OF_SHARES = f"({_FIXED} > 0 ? {_FIXED} : self.collectors.replicas)"
_ALL_SHARES = f"({_NUMBER_OF_SHARES} * {_STEP})"
_OLD = "oldSelf.value()."
_SHARES = Rule(
    f"{_UNKNOWN_BATCH} || self.collection.mode != 'Sync' || {_ALL_SHARES} < 1 || {_FRAMES} % {_ALL_SHARES} == 0"
    f" || ({_FIXED} == 0 && oldSelf.hasValue() && {_OLD}collection.mode == 'Sync'"
    f" && {_FIXED.replace('self.', _OLD)} == 0"
    f" && has({_OLD}collection.framesPerBatch) && {_OLD}collection.framesPerBatch == {_FRAMES}"
    f" && {_STEP.replace('self.', _OLD)} == {_STEP})",
    "in mode Sync, framesPerBatch must be a multiple of the number of shares times the number of environments that "
    "step together. The number of shares is collection.shares, stragglers.firstShares, or else collectors.replicas",
    "'%d cannot be divided into %d shares (%s)%s; use %d or %d'.format(["
    f"{_FRAMES}, {_NUMBER_OF_SHARES},"
    f" has(self.collection.shares) ? 'collection.shares' : {_FIXED} > 0 ? 'collection.stragglers.firstShares'"
    " : 'collectors.replicas',"
    f" {_STEP} == 1 ? '' : ' of whole steps of %d environments'.format([{_STEP}]),"
    f" {_FRAMES} - {_FRAMES} % {_ALL_SHARES}, {_FRAMES} - {_FRAMES} % {_ALL_SHARES} + {_ALL_SHARES}])",
    field=".collection.framesPerBatch",
    on_create_too=True,
)

_FIRST_SHARES = Rule(
    f"!({FIRST_SHARES}) || self.collection.stragglers.firstShares < self.collectors.replicas"
    f" || (oldSelf.hasValue() && {FIRST_SHARES.replace('self.', _OLD)}"
    f" && {_OLD}collection.stragglers.firstShares == self.collection.stragglers.firstShares)",
    "not less than collectors.replicas, so each batch waits for all shares; use a smaller number, or leave stragglers "
    "out",
    "'%d is not less than collectors.replicas (%d), so each batch waits for all shares; use a smaller number, or leave "
    "stragglers out'.format([self.collection.stragglers.firstShares, self.collectors.replicas])",
    field=".collection.stragglers.firstShares",
    on_create_too=True,
)

_GPU = "self.collectors.resources.gpu"
_UNITS = f"int({_GPU} * 10000.0 + 0.5)"
_FITTING = (
    f"({_UNITS} <= 10000 ? self.workers.gpu.perPod * (10000 / {_UNITS}) : self.workers.gpu.perPod * 10000 / {_UNITS})"
)
_PER_POD = [
    Rule(
        f"{_GPU} <= double(self.workers.gpu.perPod) || {_GPU} != double(int({_GPU}))",
        "a collector requests more GPUs than a worker pod has; raise workers.gpu.perPod or request fewer",
        "'a collector requests %d GPUs, but a worker pod has %d (workers.gpu.perPod); set perPod to at least %d, or "
        f"request fewer GPUs'.format([int({_GPU}), self.workers.gpu.perPod, int({_GPU})])",
        field=".collectors.resources.gpu",
    ),
    Rule(
        f"!has(self.workers.collectorsPerPod) || {_UNITS} <= 0 || {_GPU} > double(self.workers.gpu.perPod)"
        f" || self.workers.collectorsPerPod <= {_FITTING}",
        "this number of collectors does not fit on the GPUs of a worker pod; lower collectorsPerPod or raise "
        "workers.gpu.perPod",
        "'%d collectors of %s GPU do not fit on a worker pod with %d GPU; use at most %d, or "
        "raise"
        f" workers.gpu.perPod'.format([self.workers.collectorsPerPod, {_GPU}, self.workers.gpu.perPod, {_FITTING}])",
        field=".workers.collectorsPerPod",
    ),
]

_CUSTOM_PER_POD = [
    Rule(
        cel_custom.ENOUGH,
        cel_custom.ENOUGH_SENTENCE,
        cel_custom.ENOUGH_MESSAGE_EXPRESSION,
        field=".collectors.resources.custom",
    ),
    Rule(cel_custom.FIT, cel_custom.FIT_SENTENCE, cel_custom.FIT_MESSAGE_EXPRESSION, field=".workers.collectorsPerPod"),
    Rule(cel_custom.ENOUGH_IN_GROUPS, cel_custom.ENOUGH_SENTENCE, field=".collectors.groups"),
    Rule(cel_custom.FIT_IN_GROUPS, cel_custom.FIT_SENTENCE, field=".collectors.groups"),
]
_CUSTOM = [
    Rule(cel_custom.ABOVE_ZERO, cel_custom.ABOVE_ZERO_SENTENCE),
    Rule(cel_custom.COARSE, cel_custom.COARSE_SENTENCE, cel_custom.COARSE_MESSAGE_EXPRESSION),
]

_TOTAL_OF_GROUPS = Rule(
    cel_groups.TOTAL,
    cel_groups.TOTAL_SENTENCE,
    cel_groups.TOTAL_MESSAGE_EXPRESSION,
    field=".replicas",
    on_create_too=True,
)
_OF_GROUPS = [
    Rule(cel_groups.NOT_HEAD, cel_groups.NOT_HEAD_SENTENCE, field=".collectors.groups"),
    *(Rule(cel_groups.of_each_group(one.rule), one.message, field=".collectors.groups") for one in _PER_POD),
    *(Rule(rule, text, field=".collectors.groups") for text, rule in cel_groups.GROUP_COMBINATIONS.items()),
]

_SHARE = [
    Rule(
        "self <= 1.0 || self == double(int(self))",
        "more than one GPU and not whole; use whole GPUs, or a share below 1 such as 0.5",
        "'%s is more than one GPU and not whole; use %d, %d, or a share below 1 such as 0.5'"
        ".format([self, int(self), int(self) + 1])",
    ),
    Rule(
        "self > 1.0 || (self * 10000.0 - double(int(self * 10000.0 + 0.5)) < 0.000001"
        " && double(int(self * 10000.0 + 0.5)) - self * 10000.0 < 0.000001)",
        "finer than 0.0001 of a GPU, the smallest step that Ray counts; use at most four decimals",
        "'%s is finer than 0.0001 of a GPU, the smallest step that Ray counts; use at most four decimals'"
        ".format([self])",
    ),
]

_RAY_VERSION = Rule(
    "int(self.split('.')[0]) > 2 || (int(self.split('.')[0]) == 2 && int(self.split('.')[1]) >= 52)",
    "older than 2.52.0, the first Ray with token authentication; build the image with a newer Ray",
)


def _rules(combinations: Iterable[Combination], on: str = "") -> list[Rule]:
    """Return the rules of the combinations whose CEL applies to the part ``on`` of the spec."""
    return [_rule(one) for one in combinations if one.on == on]


def _rule(combination: Combination) -> Rule:
    numbers = ", ".join(number.cel for number in combination.numbers)
    told = combination.with_numbers and f"'{combination.with_numbers}'.format([{numbers}])"
    below = combination.field.removeprefix(combination.on).removeprefix(".")
    return Rule(combination.cel, combination.sentence, told or None, field=f".{below}" if below else None)


# The rules by path from the root of the object.
RULES: Final[dict[str, list[Rule]]] = {
    **{f"spec.{on}": _rules(COMBINATIONS, on) for on in sorted({one.on for one in COMBINATIONS if one.on})},
    "": _NAME,
    "spec": [
        *_rules(TRAIN_OR_OUTPUT),
        *(_WHOLE_STEPS, _SHARES, _FIRST_SHARES),
        *_PER_POD,
        *_OF_GROUPS,
        *_CUSTOM_PER_POD,
        *_rules(one for one in COMBINATIONS if one not in TRAIN_OR_OUTPUT),
    ],
    "spec.collectors": [_TOTAL_OF_GROUPS],
    "spec.collectors.replicas": [
        Rule("self >= 1", "a fleet has at least one collector; to free all of its pods, set spec.suspend to true")
    ],
    "spec.collectors.resources.gpu": _SHARE,
    "spec.collectors.groups[].resources.gpu": _SHARE,
    "spec.learners.gpus": _SHARE,
    "spec.evaluation.resources.gpu": _SHARE,
    "spec.collectors.resources.custom": _CUSTOM,
    "spec.collectors.groups[].resources.custom": _CUSTOM,
    "spec.ray.version": [_RAY_VERSION],
}
