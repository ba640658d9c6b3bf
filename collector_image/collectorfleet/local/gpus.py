"""How much of a GPU a collector gets on a machine that has other GPUs than the manifest asks for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor

from collectorfleet_api.names import WORKER_GROUP
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Collectors


@dataclass(frozen=True)
class GpuShare:
    """``note`` is for the user, empty where the manifest is followed."""

    per_collector: float
    note: str = ""


@dataclass(frozen=True)
class GpuShares:
    """The same of each group by name; a fleet without groups has one."""

    per_collector: Mapping[str, float]
    note: str = ""


def gpu_shares(spec: CollectorFleetSpec, gpus: float) -> GpuShares:
    """As the manifest says if all of it fits; else who asks for a GPU gets an equal share of what is there, or none."""
    if not spec.collectors.groups:
        share = gpu_share(spec.collectors, gpus)
        return GpuShares({WORKER_GROUP: share.per_collector}, share.note)
    own = {name: spec.of_group(name).collectors for name in spec.group_names}
    asked = {name: round(one.resources.gpu, 4) for name, one in own.items()}
    if sum(_gpus_for(asked[name], own[name].replicas) for name in own) <= gpus:
        return GpuShares(asked)
    many = sum(own[name].replicas for name in own if asked[name])
    wanted = f"groups ask for GPUs for {many} collectors"
    if not gpus:
        note = f"{wanted}, and this machine has no GPU: collectors run on the CPU"
        return GpuShares(dict.fromkeys(own, 0.0), note)
    equal = _equal(many, gpus)
    note = f"{wanted}, and this machine has {gpus:g}: each of them gets {equal:g}"
    return GpuShares({name: equal if asked[name] else 0.0 for name in own}, note)


@dataclass(frozen=True)
class LearnerGpus:
    """GPUs that learners take here, 0 where they learn on the CPU; ``note`` is for the user."""

    taken: int
    note: str = ""


def learner_gpus(spec: CollectorFleetSpec, gpus: float) -> LearnerGpus:
    """As the manifest says where that leaves one for collectors that ask for some; else none."""
    asked = spec.learners.gpus if spec.learners else 0.0
    left = any(spec.of_group(name).collectors.resources.gpu for name in spec.group_names)
    if not asked or ceil(asked) + left <= gpus:
        return LearnerGpus(ceil(asked))
    here = f"{gpus:g} for them and collectors" if gpus else "no GPU"
    return LearnerGpus(0, f"learners.gpus is {asked:g}, and this machine has {here}: policies learn on the CPU")


def why_evaluators_have_no_gpu(spec: CollectorFleetSpec, gpus: float) -> str:
    """Return why evaluators run on the CPU here, for the user; empty if they have the GPUs that the manifest says.

    Collectors come first. They share one GPU with evaluators if it has room for all of them.
    """
    asked = round(spec.evaluation.resources.gpu, 4) if spec.evaluation else 0.0
    if spec.evaluation is None or not asked:
        return ""
    own = [spec.of_group(name).collectors for name in spec.group_names]
    shares = [(round(one.resources.gpu, 4), one.replicas) for one in own] + [(asked, spec.evaluation.replicas)]
    on_gpus_of_their_own = sum(_gpus_for(*share) for share in shares) <= gpus
    on_one_gpu = sum(share * replicas for share, replicas in shares) <= min(gpus, 1) + 1e-9
    if not gpu_shares(spec, gpus).note and (on_gpus_of_their_own or on_one_gpu):
        return ""
    here = f"{gpus:g} for them and collectors" if gpus else "no GPU"
    replicas = spec.evaluation.replicas
    wanted = f"evaluation.resources.gpu is {asked:g} for {replicas} evaluator{'s' * (replicas != 1)}"
    return f"{wanted}, and this machine has {here}: evaluators run on the CPU"


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
    share = _equal(collectors.replicas, gpus)
    return GpuShare(share, f"{wanted}, and this machine has {gpus:g}: each gets {share:g}")


def _equal(collectors: int, gpus: float) -> float:
    per_gpu = -(-collectors // int(gpus))
    return floor(10_000 / per_gpu) / 10_000


def _gpus_for(asked: float, replicas: int) -> float:
    """GPUs that so many collectors of one group need; none spans two of them."""
    if not asked:
        return 0
    return replicas * asked if asked > 1 else ceil(replicas / floor(1 / asked + 1e-9))


def _fits(asked: float, replicas: int, gpus: float) -> bool:
    if asked > 1:
        return replicas * asked <= gpus
    return replicas <= int(gpus) * floor(1 / asked + 1e-9)
