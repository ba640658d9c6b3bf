"""``spec.driver``: the training function or program, and the driver pod that runs it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from collectorfleet_api.times import LONGEST_SECONDS
from collectorfleet_api.v1alpha1.base import LONGER_IF_STORED, Model
from collectorfleet_api.v1alpha1.checkpoint import Checkpoint
from collectorfleet_api.v1alpha1.collectors import Requests
from collectorfleet_api.v1alpha1.log import Log
from collectorfleet_api.v1alpha1.types import ImportPath, PodTemplate, Preserved, ScriptPath


class Train(Model):
    function: ImportPath = Field(
        description="Import path of `train(collector, run, **kwargs) -> None`, called once in the driver."
    )
    kwargs: Preserved = Field(default_factory=dict, description="Keyword arguments of the function.")


class Curriculum(Model):
    function: ImportPath = Field(
        description=(
            "Import path of `curriculum(result, **kwargs)`, called in the driver after each evaluation. The function "
            "returns the parameters to set, or None. If the function has an argument `parameters`, the driver passes "
            "the environment parameters that were set for all collectors."
        )
    )
    kwargs: Preserved = Field(default_factory=dict, description="Keyword arguments of the function.")


class DriverResources(Requests):
    gpu: float = Field(default=0.0, ge=0, le=64, description="Number of GPUs of the driver, a whole number.")


class Driver(Model):
    train: Train | None = Field(
        default=None,
        description=(
            "The training function. If you set neither this field nor `script` nor `spec.learners`, the "
            "driver only writes batches to `spec.output`."
        ),
    )
    script: ScriptPath | None = Field(
        default=None,
        description=(
            "Python program that the driver runs instead of a training function. The driver looks for the program in "
            "`spec.code`, then in the image. The program's FleetCollector uses this fleet's collectors. The program "
            "sets environment, policy and collection: omit these fields in the spec."
        ),
    )
    args: list[Annotated[str, StringConstraints(max_length=4096)]] = Field(
        default_factory=list, max_length=200, description="Arguments of the program, which are its `sys.argv[1:]`."
    )
    curriculum: Curriculum | None = Field(
        default=None,
        description=(
            "Function that sets parameters of the collectors' environments while the fleet trains. Needs `evaluation`. "
            "Absent: only the training function sets parameters."
        ),
    )
    resources: DriverResources = Field(
        default_factory=DriverResources,
        description="Resource requests of the driver pod. The memory request is also the memory limit.",
    )
    checkpoint: Checkpoint | None = Field(
        default=None,
        description=(
            "Checkpoints from which a restarted driver resumes. Absent: a restarted driver starts over, and the "
            "frames of the previous driver count as lost."
        ),
    )
    liveness_deadline_seconds: Annotated[int, Field(ge=60, le=LONGEST_SECONDS), LONGER_IF_STORED] | None = Field(
        default=None,
        description=(
            "If a driver does not renew its Lease for this many seconds, the driver counts as hung. The operator "
            "deletes the driver's pod, and another driver starts. If the driver does not end on SIGTERM, "
            "Kubernetes kills the driver, and this restart counts towards `backoffLimit`. Absent: hung drivers are not "
            "replaced."
        ),
    )
    log: Log | None = Field(
        default=None,
        description=("Loggers that record the metrics of the run. Absent: no logger records the metrics."),
    )
    template: PodTemplate = Field(
        default_factory=dict,
        description=(
            "Partial pod template. The operator merges this template over its built-in template of the driver pod. "
            "Lists merge by name. Values of this field take precedence."
        ),
    )
