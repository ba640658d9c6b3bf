"""``spec.driver.log``: where the numbers of a run go besides the status."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Model, Positive
from collectorfleet_api.v1alpha1.factory import Factory


class Log(Model):
    tensorboard: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description=(
            "Folder for TensorBoard, in which the fleet has one of its own name: a path of the driver pod, where "
            "`driver.template` mounts a volume."
        ),
    )
    logger: Factory | None = Field(
        default=None,
        description=(
            "Builds, in the driver, a `torchrl.record.loggers.Logger`: for Weights & Biases, MLflow, or one of yours. "
            "A class will do."
        ),
    )
    every_seconds: Positive = Field(
        default=10,
        description=(
            "Least time between two records of the fleet's own numbers. What `run.report` gets is logged at once."
        ),
    )
