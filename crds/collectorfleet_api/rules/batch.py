"""Checks that a batch divides into equal shares. ``cel`` has the same rule, but suggests no numbers of collectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from collectorfleet_api.counts import counted
from collectorfleet_api.packing.shares import divides
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.v1alpha1.collection import Mode
from collectorfleet_api.v1alpha1.fleet import CollectorFleet
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

_FRAMES: Final = "spec.collection.framesPerBatch"


def share_problems(fleet: CollectorFleet) -> Iterator[Problem]:
    spec = fleet.spec
    frames, step = spec.collection.frames_per_batch, spec.frames_per_step
    if frames is None:
        return
    if frames % step:
        yield Problem(
            _FRAMES,
            f"{frames} is not a multiple of the {step} environments of a collector that step together "
            "(environment.perCollector, collectors.numWorkersPerCollector); "
            f"use {_multiples(frames, step)}",
        )
    elif spec.collection.mode is Mode.SYNC:
        yield from _unequal_shares(fleet, frames)


def _unequal_shares(fleet: CollectorFleet, frames: int) -> Iterator[Problem]:
    spec = fleet.spec
    step, fixed = spec.frames_per_step, spec.fixed_shares
    # A stored fleet may be scaled to any number. The batch then may have more shares than collectors.
    shares = fixed or (1 if _is_stored(fleet) else spec.collectors.replicas)
    if divides(frames, shares, step):
        return
    steps = f" of whole steps of {step} environments" if step > 1 else ""
    origin, things = (_shares_field(spec), "share") if fixed else ("collectors.replicas", "collector")
    yield Problem(
        _FRAMES,
        f"{frames} cannot be divided into {counted(shares, 'share')} ({origin}){steps}; use "
        f"{_multiples(frames, shares * step)} frames, or {_dividing(frames // step, shares, things)}",
    )


def first_shares_problems(fleet: CollectorFleet) -> Iterator[Problem]:
    stragglers, replicas = fleet.spec.collection.stragglers, fleet.spec.collectors.replicas
    first = stragglers.first_shares if stragglers else None
    # A stored fleet may be scaled to any number. If the fleet has too few collectors, a batch waits for all of them.
    if first is not None and first >= replicas and not _is_stored(fleet):
        yield Problem(
            "spec.collection.stragglers.firstShares",
            f"{first} is not less than collectors.replicas ({replicas}), so each batch waits for all shares; use a "
            "smaller number, or leave stragglers out",
        )


def _is_stored(fleet: CollectorFleet) -> bool:
    return fleet.metadata.uid is not None


def _shares_field(spec: CollectorFleetSpec) -> str:
    return "collection.shares" if spec.collection.shares else "collection.stragglers.firstShares"


def _multiples(number: int, of: int) -> str:
    below = number // of * of
    return f"{below} or {below + of}" if below else str(of)


def _dividing(steps: int, shares: int, things: str) -> str:
    """Return the nearest numbers of ``things`` that divide ``steps``, such as ``5 or 8 collectors``."""
    below = next((n for n in range(min(shares, steps), 0, -1) if steps % n == 0), None)
    above = next((n for n in range(shares, steps + 1) if steps % n == 0), None)
    found = " or ".join(str(n) for n in (below, above) if n)
    return f"{found} {things}{'' if found == '1' else 's'}"
