"""Make the plan of a gather from the options of a fleet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from collectorfleet.fleet.options import FleetOptions
from collectorfleet.gather.state.plan import Plan
from collectorfleet_api.packing.shares import shares


def plan_of(options: FleetOptions) -> Plan:
    """Return the plan for the initial number of collectors."""
    number = options.shares_at_first
    return Plan(
        shares=number,
        frames_per_share=options.frames_per_batch // number,
        in_order=options.sync and options.first_shares is None,
        bound=(options.max_staleness or 0) if options.sync else options.max_staleness,
        total_frames=None if options.total_frames == -1 else options.total_frames,
        exact=options.exact_staleness,
        random_frames=options.random_frames,
        cut_short_after=_cut_short_after(options.preemptive_threshold, number),
    )


def replanning(options: FleetOptions) -> Callable[[Plan, int], Plan] | None:
    """Return a function that adapts the plan to a new number of collectors.

    The function changes the number of shares of a batch. In mode Async, this number never changes, and the result is
    None. In mode Sync, the result is None if the options fix the number of shares, or if collectors cannot change the
    size of a request. The result is also None if all batches in the replay buffer must have the same size.
    """
    fixed = options.shares or options.first_shares or options.has_processes or options.writes_equal_batches
    if not options.sync or fixed:
        return None
    frames, step, threshold = options.frames_per_batch, options.frames_of_a_step, options.preemptive_threshold

    def replanned(plan: Plan, collectors: int) -> Plan:
        number = shares(frames, collectors, step)
        return replace(
            plan,
            shares=number,
            frames_per_share=frames // number,
            cut_short_after=_cut_short_after(threshold, number),
        )

    return replanned


def _cut_short_after(threshold: float | None, shares: int) -> int | None:
    return None if threshold is None else max(1, int(shares * threshold))
