"""Conditions that several combinations check, each in Python and in CEL."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

SCRIPT: Final = "has(self.driver.script)"
LEARNS: Final = "has(self.learners)"
TRAINS: Final = f"(has(self.driver.train) || {SCRIPT} || {LEARNS})"
STRAGGLERS: Final = "has(self.collection.stragglers)"
FIRST_SHARES: Final = f"{STRAGGLERS} && has(self.collection.stragglers.firstShares)"
THRESHOLD: Final = f"{STRAGGLERS} && has(self.collection.stragglers.preemptiveThreshold)"


def trains(spec: CollectorFleetSpec) -> bool:
    return spec.driver.train is not None or spec.driver.script is not None or spec.learners is not None


def first_shares(spec: CollectorFleetSpec) -> int | None:
    stragglers = spec.collection.stragglers
    return stragglers.first_shares if stragglers else None


def threshold(spec: CollectorFleetSpec) -> float | None:
    stragglers = spec.collection.stragglers
    return stragglers.preemptive_threshold if stragglers else None
