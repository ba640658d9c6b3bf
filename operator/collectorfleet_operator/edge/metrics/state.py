"""The gauges that are computed at each scrape: the queue, the ages of lists and watches, and the fleets. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.edge.summary import Summary
from collectorfleet_operator.objects import Key, Kind

# The names of the operator's metrics begin with this prefix. Metrics of drivers begin with the project's name only.
PREFIX: Final = "collectorfleet_operator_"


@dataclass(frozen=True)
class State:
    """The state at a scrape. Ages are in seconds. ``waiting`` is the number of fleets that are due."""

    waiting: int
    longest_wait_seconds: float
    list_ages: Mapping[Kind, float]
    watch_ages: Mapping[Kind, float]
    fleets: Mapping[Key, Summary]


def families(state: State) -> Iterator[Metric]:
    yield GaugeMetricFamily(f"{PREFIX}queue_depth", "Fleets that wait for a reconciliation.", value=state.waiting)
    yield GaugeMetricFamily(
        f"{PREFIX}queue_longest_wait_seconds",
        "Longest time that a fleet has been waiting, 0 if no fleet waits.",
        value=state.longest_wait_seconds,
    )
    yield _ages("cache_list_age_seconds", "Time since the last complete list of a kind.", state.list_ages)
    yield _ages(
        "watch_event_age_seconds",
        "Time since the last change from the watch of a kind, or since the start of the watch. The time grows while "
        "nothing changes.",
        state.watch_ages,
    )
    yield _by_phase(state.fleets.values())
    yield _readiness(state.fleets)


def _ages(name: str, description: str, ages: Mapping[Kind, float]) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, description, labels=["resource"])
    for kind, seconds in ages.items():
        family.add_metric([kind.full_name], seconds)
    return family


def _by_phase(fleets: Iterable[Summary]) -> Metric:
    counts = Counter(fleet.phase for fleet in fleets)
    family = GaugeMetricFamily(
        f"{PREFIX}fleets", "Fleets by status.phase. A fleet without a phase counts as Pending.", labels=["phase"]
    )
    for phase in Phase:
        family.add_metric([phase.value], counts[phase])
    return family


def _readiness(fleets: Mapping[Key, Summary]) -> Metric:
    family = GaugeMetricFamily(
        f"{PREFIX}fleet_ready",
        "1 if the condition Ready of a fleet is True, 0 if not. Absent without the condition.",
        labels=["fleet_namespace", "fleet"],
    )
    for key, fleet in fleets.items():
        if fleet.is_ready is not None:
            family.add_metric([key.namespace, key.name], float(fleet.is_ready))
    return family
