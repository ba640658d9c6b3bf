"""Computes how many collectors fit into a pod by Ray's custom resources, such as simulator licences.

A pod with 4 licences has room for 4 collectors with 1 licence each, or for 8 collectors with 0.5 each. Ray counts
licences in ten-thousandths. Unlike a share of a GPU, a collector's 0.6 licences may come from two licences. So three
collectors with 0.6 licences each fit into a pod with 2 licences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from collectorfleet_api.counts import counted
from collectorfleet_api.packing.refusal import Refusal

UNITS: Final = 10_000
# Computed floats differ from the written value by less than this, in ten-thousandths. GPUs have the same tolerance.
_TOLERANCE_UNITS: Final = 1e-6


@dataclass(frozen=True)
class CustomResources:
    """The custom resources of one collector and of one pod, by name."""

    requested: Mapping[str, float] = field(default_factory=dict)
    per_pod: Mapping[str, int] = field(default_factory=dict)


def custom_fitting(custom: CustomResources) -> int | Refusal | None:
    """Return how many collectors fit into a pod by custom resources, or None if collectors request none.

    Return a Refusal if an amount is finer than Ray's steps, or if a pod's custom resources are not enough for
    a single collector.
    """
    fitting = None
    for name in sorted(custom.requested):
        found = _fitting(name, custom.requested[name], custom.per_pod.get(name, 0))
        if isinstance(found, Refusal):
            return found
        fitting = found if fitting is None else min(fitting, found)
    return fitting


def scarcest(custom: CustomResources) -> str:
    """Return the resource that limits the collectors in a pod. If several resources do, return the first by name."""
    return min(sorted(custom.requested), key=lambda name: _collectors(custom, name))


def too_many_for_custom(custom: CustomResources, collectors_per_pod: int) -> Refusal | None:
    """Return a Refusal if a pod's custom resources are not enough for ``collectors_per_pod`` collectors.

    Call this function only if a single collector fits into the pod.
    """
    for name in sorted(custom.requested):
        units, per_pod, fitting = round(custom.requested[name] * UNITS), custom.per_pod[name], _collectors(custom, name)
        if collectors_per_pod > fitting:
            return Refusal(
                "spec.workers.collectorsPerPod",
                f"{counted(collectors_per_pod, 'collector')} of {_amount(units)} {name} "
                f"{'does' if collectors_per_pod == 1 else 'do'} not fit on a worker pod with {per_pod} {name}; "
                f"use at most {fitting}, or a spec.workers.customPerPod of at "
                f"least {-(-collectors_per_pod * units // UNITS)}",
            )
    return None


def _collectors(custom: CustomResources, name: str) -> int:
    """Return the number of collectors for which the pod's amount of the resource ``name`` is enough."""
    return custom.per_pod[name] * UNITS // round(custom.requested[name] * UNITS)


def _fitting(name: str, requested: float, per_pod: int) -> int | Refusal:
    place, scaled = f"spec.collectors.resources.custom.{name}", requested * UNITS
    units = round(scaled)
    if units < 1 or abs(scaled - units) > _TOLERANCE_UNITS:
        near = f"{max(int(scaled), 1) / UNITS:.4f}"
        return Refusal(place, f"{requested!r} is finer than 0.0001, the smallest step that Ray counts; use {near}")
    if units > per_pod * UNITS:
        return Refusal(
            place,
            f"a collector requests {_amount(units)} {name}, but a worker pod has {per_pod} "
            "(spec.workers.customPerPod); "
            f"raise this amount to at least {-(-units // UNITS)}, or request less",
        )
    return per_pod * UNITS // units


def _amount(units: int) -> str:
    return f"{units / UNITS:.4f}".rstrip("0").rstrip(".")
