"""``spec.weights``: how the driver sends weights to the collectors."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from collectorfleet_api.v1alpha1.base import Model, Positive
from collectorfleet_api.v1alpha1.factory import Factory
from collectorfleet_api.v1alpha1.types import AttributePath


class WeightsDtype(StrEnum):
    BFLOAT16 = "BFloat16"
    FLOAT16 = "Float16"
    FLOAT32 = "Float32"


NamePrefix = Annotated[str, StringConstraints(min_length=1, max_length=253)]


class TravellingModule(Factory):
    """A further module. The driver trains the module, and collectors use it."""

    path: AttributePath = Field(description="Attribute path of the module in a collector, such as `env.world_model`.")


class Weights(Model):
    update_after_each_batch: bool = Field(
        default=True,
        description=(
            "True: the driver publishes the policy's weights when the training function requests the next batch. "
            "False: the driver publishes only when the function calls `collector.update_policy_weights_()`, or after "
            "`maxWeightUpdateInterval` batches. With `spec.learners` this field has no effect, because the learners "
            "publish."
        ),
    )
    max_weight_update_interval: Positive | None = Field(
        default=None,
        description=(
            "The driver publishes the policy's weights again after this many batches. Needs `updateAfterEachBatch: "
            "false`."
        ),
    )
    dtype: WeightsDtype | None = Field(
        default=None,
        description=(
            "Dtype in which floating-point weights are sent. The dtype of the collectors' own weights does not change. "
            "BFloat16 halves the bytes. Absent: no conversion."
        ),
    )
    include: list[NamePrefix] | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description=(
            "The driver sends only weights whose names begin with one of these prefixes, such as `actor.`. Names of "
            "weights in `models` begin with the model's path and a colon. Absent: all weights are sent."
        ),
    )
    models: list[TravellingModule] = Field(
        default_factory=list,
        max_length=16,
        description="Further modules that the driver publishes together with the policy, under the same version.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["path"]},
    )
    update_between_steps: bool = Field(
        default=False,
        description=(
            "True: collectors load new weights between two steps of a running batch. False: collectors load new "
            "weights at the start of the next batch."
        ),
    )
