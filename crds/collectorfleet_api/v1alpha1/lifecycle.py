"""``spec.whenFinished``: what is left of a run that is over."""

from __future__ import annotations

from enum import StrEnum


class WhenFinished(StrEnum):
    DELETE = "Delete"
    KEEP = "Keep"
