"""Rules about the shares of a Sync batch, and about options that mode Async does not allow."""

from __future__ import annotations

from typing import Final

from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.rule import Rule, given, not_both
from collectorfleet_api.counts import counted
from collectorfleet_api.packing.shares import divides


def _needs_sync(rule: str, name: str) -> Rule:
    return Rule(
        rule,
        name,
        lambda options: options.sync or not given(options, name),
        f"with sync=False, each batch comes from one collector; use sync=True, or leave {name} out",
    )


def _without_first_shares(rule: str, name: str) -> Rule:
    sentence = f"cannot be used together with {name!r}; pass one of the two"
    return Rule(rule, "first_shares", not_both("first_shares", name), sentence)


def _divides(options: FleetArguments) -> bool:
    return not options.sync or divides(options.frames_per_batch, options.shares_at_first, options.frames_of_a_step)


def _does_not_divide(options: FleetArguments) -> str:
    number, step = options.shares_at_first, options.frames_of_a_step
    return (
        f"{options.frames_per_batch} cannot be divided into {counted(number, 'share')} of whole steps of "
        f"{counted(step, 'environment')}; "
        f"use a multiple of {number * step}"
    )


SHARES: Final = (
    Rule(
        "staleness-in-async",
        "max_staleness",
        lambda options: options.sync or options.max_staleness != 0,
        "0 needs sync=True, because only one collector would work with sync=False; use sync=True, or at least 1",
    ),
    _needs_sync("shares-in-sync", "shares"),
    Rule(
        "exact-staleness-in-sync",
        "exact_staleness",
        lambda options: options.sync or not options.exact_staleness,
        "with sync=False, the version of a batch is not fixed when the batch is requested; use sync=True, or leave "
        "exact_staleness out and set max_staleness",
    ),
    _needs_sync("stragglers-in-sync", "first_shares"),
    _needs_sync("stragglers-in-sync", "preemptive_threshold"),
    Rule(
        "first-shares-below-collectors",
        "first_shares",
        lambda options: options.first_shares is None or 1 <= options.first_shares < options.collectors,
        lambda options: (
            f"{options.first_shares} is out of range for {counted(options.collectors, 'collector')}; "
            + (
                f"use 1 to {options.collectors - 1}"
                if options.collectors > 1
                else "leave first_shares out, or use 2 or more collectors"
            )
        ),
    ),
    Rule(
        "first-shares-need-staleness",
        "first_shares",
        lambda options: options.first_shares is None or (options.max_staleness or 0) >= 1,
        lambda options: (
            f"{options.first_shares} leaves {counted(options.collectors - (options.first_shares or 0), 'share')} to "
            "the next batch, which has newer weights; set max_staleness to 1 or more"
        ),
    ),
    _without_first_shares("first-shares-or-shares", "shares"),
    _without_first_shares("exact-staleness-or-first-shares", "exact_staleness"),
    _without_first_shares("one-way-with-stragglers", "preemptive_threshold"),
    Rule("batch-divides-into-shares", "frames_per_batch", _divides, _does_not_divide),
    Rule(
        "threshold-between-0-and-1",
        "preemptive_threshold",
        lambda options: options.preemptive_threshold is None or 0 < options.preemptive_threshold < 1,
        lambda options: (
            f"{options.preemptive_threshold:g} is out of range; use a fraction between 0 and 1, such as 0.8"
        ),
    ),
)
