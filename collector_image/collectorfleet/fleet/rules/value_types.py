"""Rules about the types and ranges of options. The annotations of FleetArguments define both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final, get_origin

from collectorfleet import option_types
from collectorfleet.devices import Device
from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.per_collector import DEVICES, NAMES
from collectorfleet.fleet.rules.rule import Rule

# Options that have a separate rule. The message of that rule names the wrong type, or the allowed words.
_HAVE_A_RULE: Final = (
    *("policy", "policy_factory", "collector_class", "rollout", "transport", "on_environment_error"),
)


def _rules() -> Sequence[Rule]:
    """Return one rule for each option, except for options of the type Any and options in ``_HAVE_A_RULE``."""
    hints = option_types.hints_of(FleetArguments)
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


def _keyword_problems(options: FleetArguments) -> list[str]:
    """Return why devices in ``collector_kwargs`` are invalid.

    A collector with several processes may have a list of devices.
    """
    annotation = Device | Sequence[Device | None] | None
    allowed = option_types.members(annotation)
    given = [keywords or {} for keywords in options.of_each("collector_kwargs").values]
    devices = [(name, option_types.plain(one[name], annotation)) for one in given for name in DEVICES if name in one]
    return [f"{name}: {found}" for name, value in devices if (found := option_types.problem(value, allowed))]


TYPES: Final = (
    *_rules(),
    Rule(
        "keyword-is-a-device",
        "collector_kwargs",
        lambda options: not _keyword_problems(options),
        lambda options: _keyword_problems(options)[0],
    ),
)
