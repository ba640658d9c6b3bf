"""What an operator that runs as a process tells Prometheus."""

from __future__ import annotations

import urllib.request

from prometheus_client.parser import text_string_to_metric_families
from tests.cluster.process import Component

PREFIX = "collectorfleet_operator_"


class Scrape:
    """One answer of ``/metrics``."""

    def __init__(self, operator: Component) -> None:
        with urllib.request.urlopen(metrics_url(operator), timeout=10) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        self._samples = [sample for family in families for sample in family.samples]

    def total(self, name: str, **labels: str) -> float:
        """The sum of the values of all series of that name that have these labels."""
        return sum(self.values(name, **labels))

    def values(self, name: str, **labels: str) -> list[float]:
        return [
            sample.value
            for sample in self._samples
            if sample.name == PREFIX + name and labels.items() <= sample.labels.items()
        ]


def metrics_url(operator: Component) -> str:
    return operator.ready_url.replace("/readyz", "/metrics")
