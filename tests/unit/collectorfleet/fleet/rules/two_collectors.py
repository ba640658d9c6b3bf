"""Options of a fleet of two collectors, in which a test changes what it is about."""

from __future__ import annotations

from typing import Any

from tests import envs

from collectorfleet.fleet.options import FleetOptions


def options(changes: dict[str, Any]) -> FleetOptions:
    """Return the options with the changes; InvalidOption if they cannot work."""
    given = {"create_env_fn": envs.make_counting, "frames_per_batch": 24, "num_collectors": 2, "sync": True}
    return FleetOptions(**given | changes)
