"""Rules for ``spec.evaluation`` together with other parts of the spec."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.names import EVALUATOR_GROUP
from collectorfleet_api.rules.combinations.combination import Combination, Number, value_of
from collectorfleet_api.rules.combinations.questions import SCRIPT
from collectorfleet_api.v1alpha1.evaluation import Evaluation
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

_EVALUATES: Final = "has(self.evaluation)"
_GPU: Final = "self.evaluation.resources.gpu"
_INTERVALS: Final = ("everyVersions", "everySeconds", "everyFrames")


def _intervals(evaluation: Evaluation) -> int:
    given = (evaluation.every_versions, evaluation.every_seconds, evaluation.every_frames)
    return sum(one is not None for one in given)


def _evaluates(spec: CollectorFleetSpec) -> bool:
    return spec.evaluation is not None


def _gpu(spec: CollectorFleetSpec) -> float:
    return spec.evaluation.resources.gpu if spec.evaluation is not None else 0.0


def _whole_gpus(spec: CollectorFleetSpec) -> int:
    return int(_gpu(spec))


EVALUATION: Final = (
    Combination(
        "evaluation-needs-a-policy",
        "evaluation",
        lambda spec: not _evaluates(spec) or spec.policy is not None or spec.driver.script is not None,
        f"!{_EVALUATES} || has(self.policy) || {SCRIPT}",
        "without a policy, collectors act at random, and there is no version to evaluate; name the policy's factory in "
        "spec.policy",
    ),
    Combination(
        "evaluation-one-interval",
        "evaluation",
        lambda spec: spec.evaluation is None or _intervals(spec.evaluation) <= 1,
        f"!{_EVALUATES} || ["
        + ", ".join(f"has(self.evaluation.{name})" for name in _INTERVALS)
        + "].filter(given, given).size() <= 1",
        "everyVersions, everySeconds and everyFrames exclude each other; keep one of them",
    ),
    Combination(
        "evaluation-keeps-the-best",
        "evaluation.keepBest",
        lambda spec: spec.evaluation is None or not spec.evaluation.keep_best or spec.driver.checkpoint is not None,
        f"!{_EVALUATES} || !self.evaluation.keepBest || has(self.driver.checkpoint)",
        "the best weights are kept beside the checkpoints; set driver.checkpoint",
    ),
    Combination(
        "evaluation-plays-what-is-recorded",
        "evaluation.video.episodes",
        lambda spec: (
            spec.evaluation is None
            or spec.evaluation.video is None
            or spec.evaluation.video.episodes <= spec.evaluation.episodes
        ),
        f"!{_EVALUATES} || !has(self.evaluation.video) || self.evaluation.video.episodes <= self.evaluation.episodes",
        "it is larger than evaluation.episodes; lower it, or raise evaluation.episodes",
    ),
    Combination(
        "evaluator-pods-need-ray",
        "evaluation.template",
        lambda spec: (
            spec.has_ray or spec.evaluation is None or not {"metadata", "spec"} & spec.evaluation.template.keys()
        ),
        f"self.launcher == 'RayCluster' || !{_EVALUATES} || !has(self.evaluation.template) || "
        "!(has(self.evaluation.template.metadata) || has(self.evaluation.template.spec))",
        "with launcher Job, evaluators run in the driver pod; set driver.template instead, or set launcher to "
        "RayCluster",
    ),
    Combination(
        "evaluators-on-gpus-need-ray",
        "evaluation.resources.gpu",
        lambda spec: spec.has_ray or not _gpu(spec),
        f"self.launcher == 'RayCluster' || !{_EVALUATES} || {_GPU} == 0.0",
        "with launcher Job, evaluators run in the driver pod, whose GPUs only the driver uses; leave this field out, "
        "or set launcher to RayCluster",
    ),
    Combination(
        "evaluators-fit-into-pods",
        "evaluation.resources.gpu",
        # The previous rule covers launcher Job, and the field's own rule covers numbers that are not whole.
        lambda spec: not spec.has_ray or _gpu(spec) <= spec.workers.gpu.per_pod or not _gpu(spec).is_integer(),
        f"self.launcher != 'RayCluster' || !{_EVALUATES} || {_GPU} <= double(self.workers.gpu.perPod)"
        f" || {_GPU} != double(int({_GPU}))",
        "an evaluator requests more GPUs than a pod has (workers.gpu.perPod); raise perPod, or request fewer GPUs",
        "an evaluator requests %d GPUs, but a pod has at most %d (workers.gpu.perPod); set perPod to at least %d, or "
        "request fewer GPUs",
        (
            Number(f"int({_GPU})", _whole_gpus),
            value_of("workers.gpu.perPod"),
            Number(f"int({_GPU})", _whole_gpus),
        ),
    ),
    Combination(
        "evaluation-group-name",
        "collectors.groups",
        # This rule also applies without an evaluation, because the operator identifies evaluator pods by their group's
        # name.
        lambda spec: all(group.name != EVALUATOR_GROUP for group in spec.collectors.groups),
        f"!has(self.collectors.groups) || !self.collectors.groups.exists(g, g.name == '{EVALUATOR_GROUP}')",
        f'the name "{EVALUATOR_GROUP}" is reserved for the pods of spec.evaluation; rename the group',
    ),
)
