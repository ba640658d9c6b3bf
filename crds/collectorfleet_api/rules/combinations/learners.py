"""Rules for ``spec.learners`` and the options that it needs or excludes."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.names import LEARNER_GROUP
from collectorfleet_api.packing.learner_pods import LearnerPods
from collectorfleet_api.rules.combinations.combination import Combination, Number
from collectorfleet_api.rules.combinations.questions import LEARNS, SCRIPT
from collectorfleet_api.v1alpha1.gpus import GpuMode
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


def _learns(spec: CollectorFleetSpec) -> bool:
    return spec.learners is not None


def _policies(spec: CollectorFleetSpec) -> int:
    return len(spec.learners.policies) if spec.learners else 0


def _places(spec: CollectorFleetSpec) -> int:
    return spec.learners.places if spec.learners else 0


def _gpus_of_a_pod(spec: CollectorFleetSpec) -> int:
    pods = spec.learners.pods if spec.learners else None
    return pods.resources.gpus if isinstance(pods, LearnerPods) else 0


def _of_a_claim(spec: CollectorFleetSpec) -> int:
    return spec.workers.gpu.per_pod


_PLACES: Final = "(has(self.maxPolicies) ? self.maxPolicies : self.policies.size())"

# The GPUs of a learner pod, as `packing.learner_pods` computes them, for learners with GPUs. If there are more GPUs
# than shards, the fullest of `s` shards has `p` places and `g` GPUs. If there are fewer GPUs than places, `m` policies
# share one GPU.
_OF_LEARNERS: Final = _PLACES.replace("self.", "self.learners.")
_GPUS: Final = "int(self.learners.gpus)"
_SHARDS: Final = (
    f"(has(self.learners.shards) ? self.learners.shards : {_GPUS} < 2 ? 1"
    f" : {_GPUS} < {_OF_LEARNERS} ? {_GPUS} : {_OF_LEARNERS})"
)
_GPUS_OF_A_SHARD: Final = "g >= p ? g / p * p : [(p + g - 1) / g].map(m, (p + m - 1) / m)[0]"
_GPUS_OF_A_POD: Final = (
    f"[{_SHARDS}].map(s, s < 1 || {_OF_LEARNERS} < 1 ? 0 : {_GPUS} <= s ? 1"
    f" : [({_OF_LEARNERS} + s - 1) / s].map(p, [{_GPUS} / s].map(g, {_GPUS_OF_A_SHARD})[0])[0])[0]"
)
_OF_A_CLAIM: Final = "self.workers.gpu.perPod"

LEARNERS: Final = (
    Combination(
        "learners-need-a-policy",
        "learners",
        lambda spec: not _learns(spec) or spec.driver.script is not None or spec.policy is not None,
        f"!{LEARNS} || {SCRIPT} || has(self.policy)",
        "learners train modules of the collectors' policy, but the fleet has no policy; name the policy's factory in "
        "spec.policy",
    ),
    Combination(
        "learners-or-script",
        "learners",
        lambda spec: not _learns(spec) or spec.driver.script is None,
        f"!{LEARNS} || !{SCRIPT}",
        "driver.script creates the collector and its LearnerShards itself; leave spec.learners out, or set "
        "driver.train instead of driver.script",
    ),
    Combination(
        "learners-need-ray",
        "learners",
        lambda spec: not _learns(spec) or spec.has_ray,
        f"!{LEARNS} || self.launcher == 'RayCluster'",
        "learners are Ray actors, but launcher Job runs collectors without Ray; set launcher to RayCluster",
    ),
    Combination(
        "learners-or-replay-buffer",
        "learners",
        lambda spec: not _learns(spec) or spec.replay_buffer is None,
        f"!{LEARNS} || !has(self.replayBuffer)",
        "collectors write to the replay actors of learners; leave replayBuffer out, and use learners.replay",
    ),
    Combination(
        "learners-or-batches",
        "learners",
        lambda spec: (
            not _learns(spec)
            or not (
                spec.collection.postproc
                or spec.collection.split_trajs
                or not spec.collection.copied
                or spec.collection.compact_observations
            )
        ),
        f"!{LEARNS} || (!has(self.collection.postproc) && !self.collection.splitTrajs && self.collection.copy"
        " && !self.collection.compactObservations)",
        "collectors write to replay actors themselves, so no batch passes through the driver; leave the fields "
        "postproc, splitTrajs, copy and compactObservations of collection out",
    ),
    Combination(
        "learners-publish-themselves",
        "weights.maxWeightUpdateInterval",
        lambda spec: not _learns(spec) or spec.weights.max_weight_update_interval is None,
        f"!{LEARNS} || !has(self.weights.maxWeightUpdateInterval)",
        "learners decide when changed weights are published; leave maxWeightUpdateInterval out",
    ),
    Combination(
        "group-or-learners",
        "collectors.groups",
        lambda spec: not _learns(spec) or all(group.name != LEARNER_GROUP for group in spec.collectors.groups),
        f"!{LEARNS} || !has(self.collectors.groups) || !self.collectors.groups.exists(g, g.name == '{LEARNER_GROUP}')",
        f'the name "{LEARNER_GROUP}" is reserved for the pods of spec.learners; rename the group',
    ),
    Combination(
        "policies-have-places",
        "learners.policies",
        lambda spec: _policies(spec) <= _places(spec),
        "!has(self.maxPolicies) || self.policies.size() <= self.maxPolicies",
        "more policies than learners.maxPolicies; raise maxPolicies, or remove policies",
        "%d policies, but learners.maxPolicies is %d; raise maxPolicies to %d, or remove policies",
        (
            Number("self.policies.size()", _policies),
            Number("self.maxPolicies", _places),
            Number("self.policies.size()", _policies),
        ),
        on="learners",
    ),
    Combination(
        "shards-have-policies",
        "learners.shards",
        lambda spec: not spec.learners or spec.learners.shards is None or spec.learners.shards <= _places(spec),
        f"!has(self.shards) || self.shards <= {_PLACES}",
        "more shards than places for policies; use fewer shards, or raise learners.maxPolicies",
        "%d shards are too many for %d policies; use at most %d, or raise learners.maxPolicies",
        (
            Number("self.shards", lambda spec: (spec.learners and spec.learners.shards) or 0),
            Number(_PLACES, _places),
            Number(_PLACES, _places),
        ),
        on="learners",
    ),
    Combination(
        "learner-pods-use-their-claim",
        "learners.gpus",
        lambda spec: spec.workers.gpu.mode is not GpuMode.DRA or _gpus_of_a_pod(spec) in (0, _of_a_claim(spec)),
        f"!{LEARNS} || self.workers.gpu.mode != 'DRA' || self.learners.gpus <= 0.0"
        f" || {_GPUS_OF_A_POD} == {_OF_A_CLAIM}",
        "with mode DRA, a learner pod needs as many GPUs as its claim has (workers.gpu.perPod); change "
        "workers.gpu.perPod or learners.gpus",
        "a learner pod needs %d GPU, but its claim has %d (workers.gpu.perPod, mode DRA); set perPod to %d with a "
        "matching claimTemplate, or change learners.gpus",
        (
            Number(_GPUS_OF_A_POD, _gpus_of_a_pod),
            Number(_OF_A_CLAIM, _of_a_claim),
            Number(_GPUS_OF_A_POD, _gpus_of_a_pod),
        ),
    ),
)
