"""Rules about the types of options. The annotations of FleetArguments say which types an option takes.

FleetArguments has already made numbers of Python out of scalars of numpy and torch.
"""

from __future__ import annotations

import reprlib
from collections import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import torch
from torchrl.envs.utils import ExplorationType

from collectorfleet.evaluation.options import Evaluation
from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.per_collector import NAMES
from collectorfleet.fleet.rules.rule import Rule
from collectorfleet.parameters import EnvironmentParameters

# Options with a separate rule, whose message names the wrong type.
_HAVE_A_RULE: Final = ("policy_factory",)


@dataclass(frozen=True)
class _Kind:
    """A type of values, with the check of a value and the words for a message."""

    words: str
    allows: Callable[[Any], bool]


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_float(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


_KINDS: Final[dict[Any, _Kind]] = {
    # TorchRL's other collectors take None instead of False.
    bool: _Kind("True or False", lambda value: value is None or isinstance(value, bool)),
    int: _Kind("an int", _is_int),
    float: _Kind("a float", _is_float),
    timedelta: _Kind("a timedelta, such as timedelta(minutes=1)", _is(timedelta)),
    torch.dtype: _Kind("a torch.dtype, such as torch.float16", _is(torch.dtype)),
    # TorchRL chooses its default instead of None.
    ExplorationType: _Kind(
        "an ExplorationType, such as ExplorationType.RANDOM",
        lambda value: value is None or isinstance(value, ExplorationType),
    ),
    Evaluation: _Kind("an Evaluation", _is(Evaluation)),
    EnvironmentParameters: _Kind("an EnvironmentParameters", _is(EnvironmentParameters)),
    abc.Callable: _Kind("a function", callable),
    # A ModuleDict of torch is no Mapping.
    abc.Mapping: _Kind("a dict", lambda value: hasattr(value, "keys")),
    abc.Sequence: _Kind(
        "a list", lambda value: isinstance(value, abc.Collection) and not isinstance(value, str | bytes | Mapping)
    ),
}


def _rules() -> Sequence[Rule]:
    """Return one rule for each option whose types all have a check. Other options are duck-typed."""
    hints = get_type_hints(FleetArguments)
    found = [(field.name, _members(hints[field.name])) for field in fields(FleetArguments)]
    return [
        _rule(name, members)
        for name, members in found
        if name not in _HAVE_A_RULE and all(one in _KINDS for one in members if one is not NoneType)
    ]


def _members(annotation: Any) -> list[Any]:
    alternatives = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return [get_origin(one) or one for one in alternatives]


def _rule(name: str, members: Sequence[Any]) -> Rule:
    of_each, may_be_none = name in NAMES, NoneType in members
    # A list with one value for each collector is no value itself.
    kinds = [_KINDS[one] for one in members if one is not NoneType and not (of_each and one is abc.Sequence)]

    def wrong(options: FleetArguments) -> list[Any]:
        given = options.of_each(name).values if of_each else [getattr(options, name)]
        checked = [value for value in given if value is not None or not may_be_none]
        return [value for value in checked if not any(kind.allows(value) for kind in kinds)]

    def sentence(options: FleetArguments) -> str:
        value = wrong(options)[0]
        found = "the value is None" if value is None else f"{reprlib.repr(value)} is {_a(type(value).__name__)}"
        return f"{found}; give {' or '.join(kind.words for kind in kinds)}"

    return Rule("has-its-type", name, lambda options: not wrong(options), sentence)


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


TYPES: Final = tuple(_rules())
