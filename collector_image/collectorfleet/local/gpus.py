"""Divide this machine's GPUs among collectors, learners and evaluators if the manifest requests too many GPUs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor

from collectorfleet_api.counts import counted
from collectorfleet_api.names import WORKER_GROUP
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Collectors


@dataclass(frozen=True)
class GpuShare:
    """The GPUs of one collector. ``note`` is a message for the user, or empty if the manifest's value is used."""

    per_collector: float
    note: str = ""


@dataclass(frozen=True)
class GpuShares:
    """The GPUs of one collector in each group, keyed by the group's name. Without groups, there is one entry.

    ``note`` is a message for the user, or empty if the manifest's values are used.
    """

    per_collector: Mapping[str, float]
    note: str = ""


def gpu_shares(spec: CollectorFleetSpec, gpus: float) -> GpuShares:
    """Return the shares of the manifest if all of them fit.

    Otherwise all collectors that request a GPU get equal shares. On a machine without a GPU, the shares are 0.
    """
    if not spec.collectors.groups:
        share = gpu_share(spec.collectors, gpus)
        return GpuShares({WORKER_GROUP: share.per_collector}, share.note)
    own = {name: spec.of_group(name).collectors for name in spec.group_names}
    asked = {name: round(one.resources.gpu, 4) for name, one in own.items()}
    if sum(_gpus_for(asked[name], own[name].replicas) for name in own) <= gpus:
        return GpuShares(asked)
    many = sum(own[name].replicas for name in own if asked[name])
    wanted = f"groups request GPUs for {counted(many, 'collector')}"
    if not gpus:
        note = f"{wanted}, but this machine has no GPU: collectors run on the CPU"
        return GpuShares(dict.fromkeys(own, 0.0), note)
    equal = _equal(many, gpus)
    note = f"{wanted}, but this machine has {gpus:g} GPU: each such collector gets {equal:g} GPU"
    return GpuShares({name: equal if asked[name] else 0.0 for name in own}, note)


@dataclass(frozen=True)
class LearnerGpus:
    """The number of GPUs for learners, or 0 if they learn on the CPU. ``note`` is a message for the user, or empty."""

    taken: int
    note: str = ""


def learner_gpus(spec: CollectorFleetSpec, gpus: float) -> LearnerGpus:
    """Return the number of GPUs that the manifest requests for learners, rounded up, or 0 if they do not fit.

    If collectors request GPUs, one GPU has to remain for the collectors.
    """
    asked = spec.learners.gpus if spec.learners else 0.0
    left = any(spec.of_group(name).collectors.resources.gpu for name in spec.group_names)
    if not asked or ceil(asked) + left <= gpus:
        return LearnerGpus(ceil(asked))
    here = f"{gpus:g} GPU for learners and collectors" if gpus else "no GPU"
    return LearnerGpus(0, f"learners.gpus is {asked:g}, but this machine has {here}: policies learn on the CPU")


def why_evaluators_have_no_gpu(spec: CollectorFleetSpec, gpus: float) -> str:
    """Return a message on why evaluators run on the CPU, or an empty string if evaluators use the manifest's GPUs.

    Collectors have priority. Collectors and evaluators share one GPU if all of them fit on this GPU.
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
    here = f"{gpus:g} GPU for evaluators and collectors" if gpus else "no GPU"
    replicas = spec.evaluation.replicas
    wanted = f"evaluation.resources.gpu is {asked:g} for {replicas} evaluator{'s' * (replicas != 1)}"
    return f"{wanted}, but this machine has {here}: evaluators run on the CPU"


def gpu_share(collectors: Collectors, gpus: float) -> GpuShare:
    """Return the manifest's share if it fits, otherwise an equal share of this machine's GPUs, or 0 without a GPU.

    With a smaller share, a manifest for a cluster also runs on a laptop.
    """
    asked = round(collectors.resources.gpu, 4)
    if not asked or _fits(asked, collectors.replicas, gpus):
        return GpuShare(asked)
    wanted = f"collectors.resources.gpu is {asked:g} for {counted(collectors.replicas, 'collector')}"
    if not gpus:
        return GpuShare(0, f"{wanted}, but this machine has no GPU: collectors run on the CPU")
    share = _equal(collectors.replicas, gpus)
    return GpuShare(share, f"{wanted}, but this machine has {gpus:g} GPU: each collector gets {share:g} GPU")


def _equal(collectors: int, gpus: float) -> float:
    per_gpu = -(-collectors // int(gpus))
    return floor(10_000 / per_gpu) / 10_000


def _gpus_for(asked: float, replicas: int) -> float:
    """Return the GPUs that ``replicas`` collectors need. A collector with at most one GPU never spans two GPUs."""
    if not asked:
        return 0
    return replicas * asked if asked > 1 else ceil(replicas / floor(1 / asked + 1e-9))


def _fits(asked: float, replicas: int, gpus: float) -> bool:
    if asked > 1:
        return replicas * asked <= gpus
    return replicas <= int(gpus) * floor(1 / asked + 1e-9)
