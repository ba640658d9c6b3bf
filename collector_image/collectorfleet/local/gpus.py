"""How much of a GPU a collector gets on a machine that has other GPUs than the manifest asks for. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from collectorfleet_api.v1alpha1 import Collectors


@dataclass(frozen=True)
class GpuShare:
    """``note`` is for the user, empty where the manifest is followed."""

    per_collector: float
    note: str = ""


def gpu_share(collectors: Collectors, gpus: float) -> GpuShare:
    """As the manifest says if that fits; an equal share of what is there, or none, if it does not.

    A person who runs a cluster's manifest on a laptop wants to see it run.
    """
    asked = round(collectors.resources.gpu, 4)
    if not asked or _fits(asked, collectors.replicas, gpus):
        return GpuShare(asked)
    wanted = f"collectors.resources.gpu is {asked:g} for {collectors.replicas} collectors"
    if not gpus:
        return GpuShare(0, f"{wanted}, and this machine has no GPU: collectors run on the CPU")
    per_gpu = -(-collectors.replicas // int(gpus))
    share = floor(10_000 / per_gpu) / 10_000
    return GpuShare(share, f"{wanted}, and this machine has {gpus:g}: each gets {share:g}")


def _fits(asked: float, replicas: int, gpus: float) -> bool:
    if asked > 1:
        return replicas * asked <= gpus
    return replicas <= int(gpus) * floor(1 / asked + 1e-9)
