"""``spec.updateStrategy``: what a changed spec does to a fleet that runs."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model


class UpdateStrategyType(StrEnum):
    ON_DELETE = "OnDelete"
    ROLLING_UPDATE = "RollingUpdate"


class UpdateStrategy(Model):
    type: UpdateStrategyType = Field(
        default=UpdateStrategyType.ON_DELETE,
        description=(
            "OnDelete: a changed spec waits until the driver's Job is deleted, or ends by itself. RollingUpdate: the "
            "driver ends where its batch ends, with a checkpoint, and goes on from there with the changed spec; "
            "without `driver.checkpoint` the spec waits as with OnDelete."
        ),
    )
