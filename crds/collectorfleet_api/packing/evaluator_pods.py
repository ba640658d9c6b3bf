"""How many evaluators share a pod, and how many pods that makes.

Evaluators without a GPU have a pod each. Two of half a GPU share a pod of one GPU. A pod has at most as many GPUs as a
worker pod, and no GPU that its evaluators do not need. With worker pods of 8 GPUs, these two have a pod of one GPU.
"""

from __future__ import annotations

from collectorfleet_api.packing.pods import Packing, WorkerGroup, pack
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.packing.shards import gpus_touched


def pack_evaluators(replicas: int, gpu: float, gpus_per_pod: int) -> Packing | Refusal:
    """Pack ``replicas`` evaluators of ``gpu`` GPUs each, as evenly as can be, into pods of at most ``gpus_per_pod``."""
    fullest = pack(WorkerGroup(replicas, gpu, gpus_per_pod))
    if isinstance(fullest, Refusal):
        return fullest
    per_pod = -(-replicas // fullest.pods)
    gpus = gpus_touched(per_pod, fullest.gpu_units)
    return pack(WorkerGroup(replicas, gpu, gpus, collectors_per_pod=per_pod))
