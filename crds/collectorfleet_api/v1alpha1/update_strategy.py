"""``spec.updateStrategy``: how the operator applies a changed spec to a running fleet."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.types import NumberOrPercentage


class UpdateStrategyType(StrEnum):
    ON_DELETE = "OnDelete"
    ROLLING_UPDATE = "RollingUpdate"


class RollingUpdate(Model):
    max_unavailable: NumberOrPercentage = Field(
        default=1,
        description=(
            "Maximum number of a group's worker pods that may be unavailable at a time: a number, or a percentage such "
            "as 25%."
        ),
    )


class UpdateStrategy(Model):
    type: UpdateStrategyType = Field(
        default=UpdateStrategyType.ON_DELETE,
        description=(
            "OnDelete: the operator applies a changed spec after the driver's Job has ended or was deleted. "
            "RollingUpdate: the driver completes its batch, writes a checkpoint, and ends. The next driver "
            "resumes with the changed spec. If the run has progress but neither `driver.checkpoint` nor "
            "`output`, the operator applies the changed spec as with OnDelete. If only worker pods change, "
            "the driver keeps running. The driver then drains a few pods at a time, and KubeRay replaces "
            "them."
        ),
    )
    rolling_update: RollingUpdate = Field(
        default_factory=RollingUpdate, description="How fast a RollingUpdate replaces worker pods."
    )
