"""The ConfigMap with the timeline of the run. The operator creates the ConfigMap, and the driver writes its data."""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.objects import Kind, Object

CONFIG_MAP: Final = Kind("v1", "ConfigMap", "configmaps")


def timeline(fleet: CollectorFleet) -> Object:
    # The manifest has no data: the data belongs to the driver and must stay after the driver's end.
    return manifest(fleet, CONFIG_MAP, names.timeline_name(fleet.metadata.name))
