"""Describe which expected collectors are not built, and what each of them waits for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.collectors import Collectors
from collectorfleet.gather.state.slots import Slot, Slots
from collectorfleet_api.v1alpha1 import CollectorState

_NAMED = 3


def missing(slots: Slots, living: Collectors) -> Iterator[tuple[Slot, Collector | None]]:
    """Yield, in order, each slot that expects a collector but has no built collector.

    The second value is the collector that is starting in the slot, or None if no collector is starting there.
    """
    for slot in slots.in_order():
        one = living.named(slot.name)
        is_built = one is not None and one.state is not CollectorState.STARTING
        if not (is_built or slot.leaving or slot.given_up or slot.waits_for):
            yield slot, one


def described(slots: Slots, living: Collectors) -> str:
    """Return one sentence about all missing collectors, or an empty string if no collector is missing."""
    found = list(missing(slots, living))
    if not found:
        return ""
    named = [f"{slot.name} {_why(slot, one)}" for slot, one in islice(found, _NAMED)]
    if len(found) > _NAMED:
        named.append(f"and {len(found) - _NAMED} more")
    verb = "collectors is" if len(found) == 1 else "collectors are"
    return f"{len(found)} of {slots.expected_count} {verb} missing: {'; '.join(named)}"


def _why(slot: Slot, one: Collector | None) -> str:
    was_lost = slot.lost or (slot.restarts > 0 and slot.last_error is not None)
    before = f"was lost ({slot.last_error}), and its replacement " if was_lost else ""
    if one is None:
        return f"{before}has not started"
    if one.pod is None:
        return f"{before}has not started, because it waits for CPU, GPU, memory or a pod"
    return f"{before}builds its environment and policy on {one.pod}"
