"""A standard Kubernetes condition."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model, Time


class ConditionStatus(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Model):
    """A standard Kubernetes condition."""

    type: str = Field(min_length=1, max_length=316, description="Condition type.")
    status: ConditionStatus = Field(description="True, False or Unknown.")
    reason: str = Field(min_length=1, max_length=1024, description="One PascalCase word for machines.")
    message: str = Field(default="", max_length=32768, description="One sentence for people, with the numbers.")
    last_transition_time: Time | None = Field(default=None, description="When the status last changed.")
    observed_generation: int | None = Field(
        default=None, description=("Generation of the spec that this condition describes.")
    )
