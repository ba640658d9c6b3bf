"""The resource in the version that this release reads and writes."""

from __future__ import annotations

from collectorfleet_api.v1alpha1.fleet import CollectorFleet, Metadata

__all__ = ["CollectorFleet", "Metadata"]
