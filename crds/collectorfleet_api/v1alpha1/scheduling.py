"""Scheduling fields that all pods of a fleet share."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.types import LabelKey, LabelValue


class TolerationOperator(StrEnum):
    EXISTS = "Exists"
    EQUAL = "Equal"


class TaintEffect(StrEnum):
    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Toleration(Model):
    key: LabelKey | None = Field(
        default=None,
        description=(
            "Key of the taint. If you omit the key and `operator` is Exists, pods tolerate every taint with this "
            "`effect`."
        ),
    )
    operator: TolerationOperator = Field(
        default=TolerationOperator.EQUAL,
        description="Equal: the taint must have `value`. Exists: the taint may have any value.",
    )
    value: LabelValue | None = Field(default=None, description="Value of the taint. Absent: the empty value.")
    effect: TaintEffect | None = Field(default=None, description="Effect of the taint. Absent: every effect.")
    toleration_seconds: int | None = Field(
        default=None,
        description=(
            "How long a pod stays on a node with a NoExecute taint. Absent: the pod stays. 0: the pod is "
            "evicted at once."
        ),
    )
