"""Computes how many evaluators share a pod, and the number of pods.

Each evaluator without a GPU has its own pod. Two evaluators with half a GPU each share a pod with one GPU. A pod has no
more GPUs than a worker pod, and no more than its evaluators need. With worker pods of 8 GPUs, the pod of these two
evaluators still has one GPU.
"""

from __future__ import annotations

from collectorfleet_api.packing.pods import Packing, WorkerGroup, pack
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.packing.shards import gpus_touched


def pack_evaluators(replicas: int, gpu: float, gpus_per_pod: int) -> Packing | Refusal:
    """Pack ``replicas`` evaluators of ``gpu`` GPUs, as evenly as possible, into pods of at most ``gpus_per_pod``."""
    fullest = pack(WorkerGroup(replicas, gpu, gpus_per_pod))
    if isinstance(fullest, Refusal):
        return fullest
    per_pod = -(-replicas // fullest.pods)
    gpus = gpus_touched(per_pod, fullest.gpu_units)
    return pack(WorkerGroup(replicas, gpu, gpus, collectors_per_pod=per_pod))
