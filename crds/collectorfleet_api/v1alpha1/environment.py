"""``spec.environment``: the environment that every collector steps."""

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
            "NextReset: an environment uses new parameters from its next reset on. Each episode then has one version "
            "of the parameters. NextStep: an environment uses new parameters from the first step of the next rollout "
            "on, even within an episode."
        ),
    )
    through: ParametersThrough = Field(
        default=ParametersThrough.AUTO,
        description=(
            "SetParameters: call the environment's `set_parameters(**parameters)`. Attributes: for each parameter, set "
            "the attribute of the environment that has the same name. ResetOptions: use Gymnasium's "
            "`reset(options=...)`. Auto: SetParameters if the environment has this method, else Attributes."
        ),
    )


class Environment(Factory):
    factory: ImportPath = Field(
        description=(
            "Import path `package.module:function` of the callable that builds the environment. If the callable has a "
            "parameter `collector_index`, the collector passes its index, such as 3 for `c3`."
        )
    )
    per_collector: Positive = Field(
        default=1,
        description=(
            "Number of environments that one collector steps together in one process. The factory builds each "
            "environment. Together, these environments form one batched environment."
        ),
    )
    process: Process | None = Field(
        default=None,
        description=(
            "A simulator program. Each collector starts the program in the collector's container, and then builds the "
            "environment. The simulator ends with the collector. The simulator uses the resources of the collector. "
            "Absent: no simulator."
        ),
    )
    parameters: EnvironmentParameters | None = Field(
        default=None,
        description=(
            "Lets `driver.curriculum` or the training function set parameters of the environments during the run. "
            "Frames carry the version of the parameters. Absent: off, unless you set `driver.curriculum`."
        ),
    )
