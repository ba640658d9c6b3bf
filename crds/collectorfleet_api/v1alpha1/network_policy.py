"""``spec.networkPolicy``: which clients may reach the pods of a fleet, and which servers the pods may reach."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.types import Preserved


class NetworkPolicy(Model):
    metrics_from: list[Preserved] = Field(
        default_factory=list,
        max_length=32,
        description=(
            "Further peers that may reach the metrics port, as in `from` of a NetworkPolicy, such as the "
            "`namespaceSelector` of Prometheus."
        ),
    )
    ingress: list[Preserved] = Field(
        default_factory=list,
        max_length=32,
        description=(
            "Further rules, as in `spec.ingress` of a NetworkPolicy, such as a rule for Ray's dashboard on port 8265."
        ),
    )
    egress: list[Preserved] | None = Field(
        default=None,
        max_length=32,
        description=(
            "Rules, as in `spec.egress` of a NetworkPolicy. Pods reach each other, DNS, and the destinations of these"
            " rules. The driver needs the API server. Absent: pods reach everything."
        ),
    )
