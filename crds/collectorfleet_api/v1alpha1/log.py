"""``spec.driver.log``: the loggers that get the numbers of a run, in addition to the status."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model, PositiveDuration
from collectorfleet_api.v1alpha1.factory import Factory


class Log(Model):
    tensorboard: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description=(
            "Folder in the driver pod for TensorBoard. The driver writes into the subfolder with the fleet's name. "
            "Mount a volume there through `driver.template`."
        ),
    )
    logger: Factory | None = Field(
        default=None,
        description=(
            "Factory that builds a `torchrl.record.loggers.Logger` in the driver, such as a logger for Weights & "
            "Biases or MLflow, or your own logger. The factory may be a class."
        ),
    )
    every_seconds: PositiveDuration = Field(
        default=10,
        description=(
            "Minimum seconds between records of the fleet's metrics. Values of `run.report` are logged at once."
        ),
    )
