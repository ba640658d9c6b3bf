"""Rules about the types of options. The annotations of FleetArguments define the allowed types of an option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final, get_origin, get_type_hints

from collectorfleet import option_types
from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.per_collector import NAMES
from collectorfleet.fleet.rules.rule import Rule

# Options that have a separate rule. The message of that rule names the wrong type, or the allowed words.
_HAVE_A_RULE: Final = (
    *("policy", "policy_factory", "collector_class", "rollout", "transport", "on_environment_error"),
)


def _rules() -> Sequence[Rule]:
    """Return one rule for each option, except options of the type Any, whose types are not checked."""
    hints = get_type_hints(FleetArguments)
    names = [field.name for field in fields(FleetArguments)]
    return [_rule(name, hints[name]) for name in names if name not in _HAVE_A_RULE and hints[name] is not Any]


def _rule(name: str, annotation: Any) -> Rule:
    of_each = name in NAMES
    # If the option is a list with one value for each collector, check the values and not the list.
    types = [one for one in option_types.members(annotation) if not (of_each and get_origin(one) is Sequence)]

    def problems(options: FleetArguments) -> list[str]:
        values = options.of_each(name).values if of_each else [getattr(options, name)]
        return [found for found in (option_types.problem(value, types) for value in values) if found]

    return Rule("has-its-type", name, lambda options: not problems(options), lambda options: problems(options)[0])


TYPES: Final = tuple(_rules())
