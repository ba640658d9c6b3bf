"""The pods that hold learner shards: how many, and how large.

Ten policies on 4 GPUs are 4 shards of at most 3: 4 pods of 1 GPU, one shard each. Three on 8 are 3 pods of 2 GPUs. Two
shards of a policy each that share one GPU are one pod. All pods are alike, sized for the fullest shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from collectorfleet_api.packing.pods import UNITS_PER_GPU
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.packing.resources import (
    OBJECT_STORE_BYTES,
    OBJECT_STORE_BYTES_PER_COLLECTOR,
    RAY_CPUS,
    RAY_MEMORY_BYTES,
    PodResources,
)
from collectorfleet_api.packing.shards import LearnerGroup, PodSize, ShardPacking, gpus_touched, pack_shards


@dataclass(frozen=True)
class ShardMemory:
    """Bytes of one policy's actor, and of one shard's replay actor."""

    policy: Fraction
    replay: Fraction


@dataclass(frozen=True)
class LearnerPods:
    """``pods`` pods of up to ``shards_per_pod`` shards, each pod with room for ``actors`` and ``resources``."""

    packing: ShardPacking
    pods: int
    shards_per_pod: int
    actors: int  # replay actors included
    ray_cpus: int
    resources: PodResources

    @property
    def sizes(self) -> list[PodSize]:
        """Of every pod, as Ray counts it."""
        return [PodSize(Fraction(self.ray_cpus), self.resources.gpus)] * self.pods


def learner_pods(
    group: LearnerGroup, memory: ShardMemory, policy_cpu: Fraction, replay_cpu: Fraction
) -> LearnerPods | Refusal:
    """Pods for ``group``, whose CPUs are Ray's; ``policy_cpu`` and ``replay_cpu`` are what Kubernetes is asked for."""
    # What a shard asks for is not known yet: as many pods as there may be shards, each large enough for any.
    roomy = PodSize(group.replay_cpus + group.max_policies * group.policy_cpus, max(ceil(group.gpus), 1))
    packing = pack_shards(group, [roomy] * max(group.max_policies, 1))
    if isinstance(packing, Refusal):
        return packing
    slots, share, shards = packing.slots[0], packing.gpu_units, len(packing.slots)
    # Only shards that a GPU holds several of share a pod.
    per_pod = min(shards, max(1, UNITS_PER_GPU // (slots * share))) if share else 1
    pods = -(-shards // per_pod)
    per_pod = -(-shards // pods)  # as evenly as can be
    policies, actors = per_pod * slots, per_pod * (slots + 1)
    object_store = OBJECT_STORE_BYTES + actors * OBJECT_STORE_BYTES_PER_COLLECTOR
    return LearnerPods(
        packing=packing,
        pods=pods,
        shards_per_pod=per_pod,
        actors=actors,
        ray_cpus=ceil(policies * group.policy_cpus + per_pod * group.replay_cpus),
        resources=PodResources(
            cpus=policies * policy_cpu + per_pod * replay_cpu + RAY_CPUS,
            memory_bytes=ceil(policies * memory.policy + per_pod * memory.replay) + RAY_MEMORY_BYTES + object_store,
            object_store_bytes=object_store,
            gpus=gpus_touched(policies, share),
        ),
    )
