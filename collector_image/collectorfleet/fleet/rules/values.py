"""Rules about options that have to be absent, and about lists and their lengths."""

from __future__ import annotations

from typing import Final

from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.per_collector import NAMES, is_list, lengths
from collectorfleet.fleet.rules.rule import Rule, absent
from collectorfleet_api.counts import counted


def _not_empty(name: str) -> Rule:
    def holds(options: FleetArguments) -> bool:
        value = getattr(options, name)
        return not is_list(value) or len(value) > 0

    return Rule("list-not-empty", name, holds, "the list is empty; give one value for each collector")


def _one_for_each(name: str) -> Rule:
    def holds(options: FleetArguments) -> bool:
        return lengths(options).get(name, options.values_in_a_list) == options.values_in_a_list

    def sentence(options: FleetArguments) -> str:
        length, number = lengths(options)[name], options.values_in_a_list
        if options.groups:
            needed = counted(number, "entry of groups", "entries of groups")
        else:
            needed = counted(number, "collector")
        return f"the list has length {length}, but the fleet has {needed}; pass one value, or a list of {number}"

    return Rule("list-has-one-for-each", name, holds, sentence)


VALUES: Final = (
    *(
        Rule(
            "weights-have-one-way",
            name,
            absent(name),
            "a fleet publishes weights with collector.update_policy_weights_() or update_after_each_batch=True; remove "
            "this argument",
        )
        for name in ("weight_updater", "weight_sync_schemes", "weight_recv_schemes")
    ),
    # An empty list of ``remote_configs`` counts as unset.
    *(_not_empty(name) for name in NAMES if name != "remote_configs"),
    *(_one_for_each(name) for name in NAMES),
    Rule(
        "groups-have-names",
        "groups",
        lambda options: options.groups is None or (bool(options.groups) and all(options.groups)),
        "a list of names is expected, one for each collector",
    ),
)
