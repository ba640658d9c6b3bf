"""``spec.environment``: what every collector steps."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model, Positive
from collectorfleet_api.v1alpha1.factory import Factory
from collectorfleet_api.v1alpha1.process import Process
from collectorfleet_api.v1alpha1.types import ImportPath


class ParametersApply(StrEnum):
    NEXT_RESET = "NextReset"
    NEXT_STEP = "NextStep"


class ParametersThrough(StrEnum):
    AUTO = "Auto"
    SET_PARAMETERS = "SetParameters"
    ATTRIBUTES = "Attributes"
    RESET_OPTIONS = "ResetOptions"


class EnvironmentParameters(Model):
    apply: ParametersApply = Field(
        default=ParametersApply.NEXT_RESET,
        description=(
            "NextReset: each environment takes new parameters when it is reset next, so that an episode has one "
            "version. NextStep: before the first step of the collector's next rollout, in the middle of episodes."
        ),
    )
    through: ParametersThrough = Field(
        default=ParametersThrough.AUTO,
        description=(
            "SetParameters: the method `set_parameters(**parameters)` of the environment. Attributes: its "
            "attributes of these names. ResetOptions: Gymnasium's `reset(options=...)`. Auto: the method if the "
            "environment has one, else the attributes."
        ),
    )


class Environment(Factory):
    factory: ImportPath = Field(
        description=(
            "Import path `package.module:function` of the callable that builds the environment. If the callable has"
            " a parameter `collector_index`, it gets the collector's index: 3 for `c3`."
        )
    )
    per_collector: Positive = Field(
        default=1,
        description=(
            "Environments that one collector steps together in its process. Above 1 the factory is called that "
            "often and the environments form one batch."
        ),
    )
    process: Process | None = Field(
        default=None,
        description=(
            "A simulator that each collector starts in its own container before it builds the environment. The "
            "simulator ends with the collector. It uses the resources of the collector. Absent: none."
        ),
    )
    parameters: EnvironmentParameters | None = Field(
        default=None,
        description=(
            "The environments take parameters while the fleet runs, from `driver.curriculum` or the training function. "
            "Frames carry the version of the parameters. Absent: they take none, unless there is a `driver.curriculum`."
        ),
    )
