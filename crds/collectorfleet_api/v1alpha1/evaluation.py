"""``spec.evaluation``: actors that play whole episodes with one weights version while the fleet trains."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from collectorfleet_api.v1alpha1.base import Model, Positive, Seconds
from collectorfleet_api.v1alpha1.collection import ExplorationType
from collectorfleet_api.v1alpha1.groups import GroupEnvironment
from collectorfleet_api.v1alpha1.types import Cpu, Memory, PodTemplate

MOST_EVALUATORS: Final = 100
MOST_EPISODES: Final = 100_000
MOST_RECORDED: Final = 5
# Every simulator accepts seeds up to this number.
LARGEST_SEED: Final = 2**31 - 1
# The interval between evaluations, in versions, if the spec sets no interval.
DEFAULT_EVERY_VERSIONS: Final = 10


def _each_once(seeds: list[int]) -> list[int]:
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise ValueError(
                f"{seed} appears twice; name each seed once, because later episodes of a seed use numbers derived from "
                "the seed"
            )
    return seeds


class EvaluationResources(Model):
    """Resources of one evaluator. CPU and memory are Kubernetes quantities."""

    cpu: Cpu = Field(default=1, description="CPU of one evaluator. Ray reserves whole CPUs, rounded up.")
    memory: Memory = Field(default="2Gi", description="Memory of one evaluator.")
    gpu: float = Field(
        default=0.0,
        ge=0,
        le=64,
        description=(
            "GPUs of one evaluator: a share of one GPU, or whole GPUs, as with `collectors.resources.gpu`. If an "
            "evaluator has GPUs, its environment and policy are on the GPU. Evaluators share a pod if they fit on the "
            "pod's GPUs. `workers.gpu` sets how the pod gets its GPUs. Needs `launcher: RayCluster`."
        ),
    )


class StopWhen(Model):
    return_mean: float = Field(
        description="The fleet completes once an evaluation reaches this mean return, even before `totalFrames`."
    )


class EvaluationVideo(Model):
    """Videos of episodes, as animated WebP files."""

    episodes: Annotated[int, Field(ge=1, le=MOST_RECORDED)] = Field(
        default=1,
        description=(
            "Number of videos of each recorded evaluation, at most 5. The videos show the first episodes of the "
            "evaluation."
        ),
    )
    every_evaluations: Positive = Field(
        default=5,
        description=(
            "Interval between recorded evaluations. With 5, the 1st, the 6th and the 11th evaluation are "
            "recorded. The count includes failed evaluations, and continues after a resume. An evaluation "
            "that begins after the end of the run is recorded, too."
        ),
    )
    pixel_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=253,
        description=(
            "Entry of the observations to record, such as `pixels`. Absent: the frames of the environment's "
            "`render()`. For Gymnasium, set `render_mode: rgb_array` in `evaluation.environment.kwargs`."
        ),
    )


class Evaluation(Model):
    replicas: Positive = Field(
        default=1,
        le=MOST_EVALUATORS,
        description=(
            "Number of evaluators. They share the episodes of an evaluation. Their number does not change the result."
        ),
    )
    resources: EvaluationResources = Field(
        default_factory=EvaluationResources,
        description=(
            "Resources of one evaluator. Without a GPU, each evaluator has its own pod. For Ray, the pod also requests "
            "200m CPU, 768Mi of memory, and 256Mi for each evaluator. With `launcher: Job`, evaluators are processes "
            "of the driver pod, which requests their CPU and memory too."
        ),
    )
    environment: GroupEnvironment = Field(
        default_factory=GroupEnvironment,
        description=(
            "The environment that evaluators play. Absent: each evaluator plays one copy of the training environment."
        ),
    )
    exploration_type: ExplorationType = Field(
        default=ExplorationType.DETERMINISTIC,
        description=(
            "How evaluators choose an action from the policy's distribution. The values are those of TorchRL's "
            "ExplorationType."
        ),
    )
    every_versions: Positive | None = Field(
        default=None,
        description=(
            f"An evaluation is due whenever the number of a new weights version is a multiple of this number. Default: "
            f"{DEFAULT_EVERY_VERSIONS}, if you set none of `everyVersions`, `everySeconds` and `everyFrames`. The "
            f"last version is evaluated as well."
        ),
    )
    every_seconds: Seconds | None = Field(
        default=None, description="An evaluation is due this many seconds after the previous evaluation was due."
    )
    every_frames: Positive | None = Field(
        default=None, description=("An evaluation is due each time the driver has handed out this many further frames.")
    )
    episodes: Annotated[int, Field(ge=1, le=MOST_EPISODES)] = Field(
        default=10,
        description=(
            "Number of episodes of one evaluation. Evaluators play each episode to its end, and every episode counts."
        ),
    )
    seeds: Annotated[list[Annotated[int, Field(ge=0, le=LARGEST_SEED)]], AfterValidator(_each_once)] = Field(
        default_factory=lambda: [0],
        min_length=1,
        max_length=1000,
        json_schema_extra={"x-kubernetes-list-type": "set"},
        description=(
            "Seeds that the episodes use in turn. In a single environment, the first episode of a seed uses the seed "
            "itself. Later episodes use numbers derived from the seed."
        ),
    )
    timeout_seconds: Seconds = Field(
        default=600,
        description=(
            "An evaluation that takes more than this many seconds fails. The status counts the failure, and training "
            "continues."
        ),
    )
    stop_when: StopWhen | None = Field(
        default=None,
        description="Condition under which the fleet completes early. Absent: only `totalFrames` ends the run.",
    )
    keep_best: bool = Field(
        default=False,
        description=(
            "True: the driver also keeps the weights with the highest mean return, beside the checkpoints. Needs "
            "`driver.checkpoint`."
        ),
    )
    video: EvaluationVideo | None = Field(
        default=None, description="Videos of some episodes. Absent: there are no videos."
    )
    template: PodTemplate = Field(
        default_factory=dict,
        description=(
            "Partial pod template of evaluator pods. The operator merges this template over its built-in template and "
            "`workers.template`. Lists merge by name. Values of this field take precedence."
        ),
    )

    @property
    def versions_between(self) -> int | None:
        """Return the number of versions between two evaluations, or None if the interval is in seconds or frames."""
        if self.every_versions is None and self.every_seconds is None and self.every_frames is None:
            return DEFAULT_EVERY_VERSIONS
        return self.every_versions
