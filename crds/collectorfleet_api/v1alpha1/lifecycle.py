"""``spec.whenFinished``: what happens to the RayCluster after the end of the run."""

from __future__ import annotations

from enum import StrEnum


class WhenFinished(StrEnum):
    DELETE = "Delete"
    KEEP = "Keep"
