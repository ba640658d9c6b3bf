"""Everything that operator and driver can tell Prometheus: what rules and dashboard are held against."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.collectorfleet.run.metrics.full_report import report

from collectorfleet.run.metrics.families import ReportCollector
from collectorfleet_operator.children.table import LISTED, WATCHED
from collectorfleet_operator.edge.metrics.instruments import Instruments
from collectorfleet_operator.edge.metrics.requests import Request
from collectorfleet_operator.edge.metrics.state import PREFIX, State
from collectorfleet_operator.edge.summary import summary
from collectorfleet_operator.objects import Key

# What a PodMonitor adds to everything that it finds in a pod, and Prometheus to each target.
TARGET_LABELS = frozenset({"namespace", "pod", "container", "endpoint", "job", "instance"})
# What Prometheus notes of each target by itself.
OF_PROMETHEUS = {"up": TARGET_LABELS}


def operator_registry() -> CollectorRegistry:
    """Of an operator that did one of each and has one fleet."""
    instruments = Instruments()
    instruments.requested(Request("list", "pods"), "200", 0.01)

    async def done(_: Key) -> timedelta | None:
        return None

    asyncio.run(instruments.timed(done)(Key("lab", "cheetah")))  # type: ignore[arg-type]
    fleets = {
        Key("lab", "cheetah"): summary(
            {"status": {"phase": "Collecting", "conditions": [{"type": "Ready", "status": "True"}]}}
        )
    }
    ages = dict.fromkeys(LISTED, 4.0)
    instruments.begin_serving(lambda: State(1, 0.5, ages, {kind: ages[kind] for kind in WATCHED}, fleets))
    return instruments.registry


def driver_registry() -> CollectorRegistry:
    """Of a driver whose every number is known."""
    registry = CollectorRegistry()
    registry.register(ReportCollector("cheetah", report))
    return registry


def operator_families() -> Iterator[tuple[Metric, str, list[str]]]:
    """The operator's own families with their names as Prometheus has them, and the labels of each."""
    for family in operator_registry().collect():
        if family.name.startswith(PREFIX):
            suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
            labels = {label for sample in family.samples for label in sample.labels if label != "le"}
            yield family, family.name + suffix, sorted(labels)


def series() -> dict[str, frozenset[str]]:
    """By name of a series as Prometheus stores it: its labels, the target's included."""
    found: dict[str, frozenset[str]] = dict(OF_PROMETHEUS)
    for registry in (operator_registry(), driver_registry()):
        for family in text_string_to_metric_families(generate_latest(registry).decode()):
            for sample in family.samples:
                found[sample.name] = found.get(sample.name, TARGET_LABELS) | set(sample.labels)
    return found
