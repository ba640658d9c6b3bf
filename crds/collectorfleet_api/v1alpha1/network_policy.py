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
            "Further peers that may reach the metrics port, such as the `namespaceSelector` of Prometheus. Use the "
            "syntax of `from` in a NetworkPolicy."
        ),
    )
    ingress: list[Preserved] = Field(
        default_factory=list,
        max_length=32,
        description=(
            "Further ingress rules, such as a rule for Ray's dashboard on port 8265. Use the syntax of `spec.ingress` "
            "in a NetworkPolicy."
        ),
    )
    egress: list[Preserved] | None = Field(
        default=None,
        max_length=32,
        description=(
            "Egress rules, in the syntax of `spec.egress` in a NetworkPolicy. Pods reach only each other, DNS, and the "
            "destinations of these rules. Allow the API server, because the driver needs it. Absent: pods reach "
            "everything."
        ),
    )
