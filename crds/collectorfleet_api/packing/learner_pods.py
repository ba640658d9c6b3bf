"""Computes the number and size of the pods for learner shards.

Ten policies on 4 GPUs have 4 shards of at most 3 policies, in 4 pods of 1 GPU. Three policies on 8 GPUs have 3 pods of
2 GPUs. Two shards with one policy each can share one GPU. Then the two shards are in one pod. All pods
have the size for the fullest shard.
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
    """Memory in bytes of one policy's actor and of one shard's replay actor."""

    policy: Fraction
    replay: Fraction


@dataclass(frozen=True)
class LearnerPods:
    """``pods`` pods with up to ``shards_per_pod`` shards each.

    Each pod has ``resources`` and room for ``actors`` actors.
    """

    packing: ShardPacking
    pods: int
    shards_per_pod: int
    actors: int  # replay actors included
    ray_cpus: int
    resources: PodResources

    @property
    def sizes(self) -> list[PodSize]:
        """Return the size of each pod, as Ray counts it."""
        return [PodSize(Fraction(self.ray_cpus), self.resources.gpus)] * self.pods


def learner_pods(
    group: LearnerGroup, memory: ShardMemory, policy_cpu: Fraction, replay_cpu: Fraction
) -> LearnerPods | Refusal:
    """Return the pods for ``group``, or why they are impossible.

    Ray reserves the CPUs in ``group`` for the actors. For the same actors, the pods request ``policy_cpu`` and
    ``replay_cpu`` from Kubernetes.
    """
    # The size of a shard is not known yet, so assume a pod for each possible shard, large enough for all policies.
    roomy = PodSize(group.replay_cpus + group.max_policies * group.policy_cpus, max(ceil(group.gpus), 1))
    packing = pack_shards(group, [roomy] * max(group.max_policies, 1))
    if isinstance(packing, Refusal):
        return packing
    slots, share, shards = packing.slots[0], packing.gpu_units, len(packing.slots)
    # Shards share a pod only if one GPU has room for several shards.
    per_pod = min(shards, max(1, UNITS_PER_GPU // (slots * share))) if share else 1
    pods = -(-shards // per_pod)
    per_pod = -(-shards // pods)  # as evenly as possible
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
