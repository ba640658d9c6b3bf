"""Rules about the value of one option, or about the length of its list."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.per_collector import NAMES, is_list, lengths
from collectorfleet.fleet.rules.rule import Rule, absent


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
        things = "turns of groups" if options.groups else "collectors"
        return f"a list of {length} for {number} {things}; pass one value, or a list of {number}"

    return Rule("list-has-one-for-each", name, holds, sentence)


def _at_least(least: int, name: str) -> Rule:
    def holds(options: FleetArguments) -> bool:
        return all(value is None or bool(value >= least) for value in options.of_each(name).values)

    return Rule("at-least", name, holds, lambda options: f"{getattr(options, name)} is less than {least}")


def _some_time(name: str) -> Rule:
    def sentence(options: FleetArguments) -> str:
        seconds = getattr(options, name).total_seconds()
        return f"{seconds:g} s is not a positive time; give more than 0"

    return Rule("some-time", name, lambda options: getattr(options, name) > timedelta(0), sentence)


VALUES: Final = (
    *(
        Rule(
            "weights-have-one-way",
            name,
            absent(name),
            "weights of a fleet are published with collector.update_policy_weights_() or update_after_each_batch=True, "
            "and acknowledged by every collector; remove this argument",
        )
        for name in ("weight_updater", "weight_sync_schemes", "weight_recv_schemes")
    ),
    # An empty list of ``remote_configs`` counts as unset.
    *(_not_empty(name) for name in NAMES if name != "remote_configs"),
    *(
        _at_least(1, name)
        for name in (
            *("num_collectors", "num_workers_per_collector", "envs_per_collector", "threads_per_collector"),
            *("frames_per_batch", "shares", "trajs_per_batch"),
        )
    ),
    _at_least(0, "max_staleness"),
    *(_some_time(name) for name in ("available_timeout", "request_timeout", "first_request_timeout")),
    *(_one_for_each(name) for name in NAMES),
    Rule(
        "groups-have-names",
        "groups",
        lambda options: options.groups is None or (bool(options.groups) and all(options.groups)),
        "a list of names is expected, one for each collector",
    ),
)
