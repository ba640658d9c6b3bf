"""The part of ``status`` that the driver writes: :class:`DriverReport`. Unknown values are absent."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Count, Model, Time
from collectorfleet_api.v1alpha1.collectors_status import CollectorStatus
from collectorfleet_api.v1alpha1.evaluation_status import EvaluationStatus
from collectorfleet_api.v1alpha1.learners_status import LearnersStatus
from collectorfleet_api.v1alpha1.progress_status import Progress
from collectorfleet_api.v1alpha1.types import BY_NAME, Preserved
from collectorfleet_api.v1alpha1.weights_status import WeightsStatus


class ParametersOf(Model):
    name: str = Field(description="Name of the group, or of the collector.")
    values: Preserved = Field(
        default_factory=dict, description="Parameters that were set only for this group or collector."
    )


class EnvironmentParametersStatus(Model):
    """The current parameters of the collectors' environments."""

    version: Count = Field(
        default=0,
        description=(
            "Number of times that parameters were set. The number is 0 while environments have the parameters from "
            "their factory."
        ),
    )
    values: Preserved = Field(default_factory=dict, description="The parameters of all collectors.")
    groups: list[ParametersOf] = Field(
        default_factory=list, description="Parameters of single groups.", json_schema_extra=BY_NAME
    )
    collectors: list[ParametersOf] = Field(
        default_factory=list,
        description="Parameters of single collectors, at most 100.",
        json_schema_extra=BY_NAME,
    )
    applied: Count = Field(
        default=0, description="Number of available collectors whose environments all have the newest parameters."
    )


class CheckpointStatus(Model):
    frames: Count = Field(description="Number of frames that were handed out before the newest checkpoint.")
    time: Time | None = Field(default=None, description="When the newest checkpoint was written.")
    failure: str | None = Field(default=None, description="Why a newer checkpoint could not be written.")


class DriverReport(Model):
    """The fields that the driver writes, by server-side apply as `collectorfleet-driver`."""

    fleet_uid: str | None = Field(
        default=None,
        alias="fleetUID",
        description="UID of the fleet. The operator ignores reports with another UID.",
    )
    driver_incarnation: int | None = Field(
        default=None,
        description="Number of the reporting driver. The fleet's first driver has number 1, and each start adds 1.",
    )
    driver_ended: bool | None = Field(
        default=None,
        description="True: the driver has ended its collectors, and this report is the driver's last report.",
    )
    weights: WeightsStatus | None = Field(default=None, description="The state of the weights.")
    progress: Progress | None = Field(default=None, description="The state of the collection.")
    checkpoint: CheckpointStatus | None = Field(
        default=None,
        description="The newest checkpoint. Absent: there is no checkpoint yet, or no `driver.checkpoint` in the spec.",
    )
    learners: LearnersStatus | None = Field(
        default=None,
        description=(
            "The policies of `spec.learners`. Absent: the spec has no learners, or the learners have not started yet."
        ),
    )
    evaluation: EvaluationStatus | None = Field(
        default=None, description="The results of `spec.evaluation`. Absent: the spec has no evaluation."
    )
    environment_parameters: EnvironmentParametersStatus | None = Field(
        default=None, description="Parameters of the environments. Absent: the environments accept no new parameters."
    )
    collectors: list[CollectorStatus] = Field(
        default_factory=list,
        description="State of at most 100 collectors, the worst first.",
        json_schema_extra=BY_NAME,
    )
    drained_pods: list[str] = Field(
        default_factory=list,
        max_length=1000,
        description="Worker pods whose collectors have all ended.",
    )
