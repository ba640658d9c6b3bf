"""Computes how many collectors share a worker pod, and the number of pods.

For example, 16 collectors with 0.25 GPU each need 4 pods with 1 GPU each: a pod has 4 collectors, and there is no
surplus. If each collector also needs a licence and each pod has 3 licences, a pod has 3 collectors, and there are 6
pods. CPU and memory set no limit, because a pod requests the CPU and memory that its collectors need.

Arithmetic is in whole ten-thousandths of a GPU, Ray's own resolution, because ``1 // 0.1 == 9.0`` in floats. No
collector spans two GPUs, so a GPU has room for whole shares only, and the rest is surplus. ``replicas * share`` would
ignore this surplus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from collectorfleet_api.counts import counted
from collectorfleet_api.packing.custom import CustomResources, custom_fitting, too_many_for_custom
from collectorfleet_api.packing.refusal import Refusal

UNITS_PER_GPU: Final = 10_000
# Computed floats such as 0.1 + 0.2 differ from the written value by less than this, in ten-thousandths.
_TOLERANCE_UNITS: Final = 1e-6


@dataclass(frozen=True)
class WorkerGroup:
    """A request for worker pods for ``replicas`` collectors, each with ``gpu`` GPUs.

    ``custom`` has the custom Ray resources of one collector and of one pod. ``collectors_per_pod`` overrides the number
    of collectors that fit.
    """

    replicas: int
    gpu: float = 0.0
    gpus_per_pod: int = 1
    collectors_per_pod: int | None = None
    custom: CustomResources = field(default_factory=CustomResources)


@dataclass(frozen=True)
class Packing:
    """``pods`` worker pods of up to ``per_pod`` collectors, each pod with ``gpus_per_pod`` GPUs."""

    replicas: int
    per_pod: int
    pods: int
    gpus_per_pod: int
    gpu_units: int  # one collector's share, in ten-thousandths of a GPU
    surplus_units: int  # GPUs of all pods that no collector uses, in ten-thousandths

    @property
    def gpu_per_collector(self) -> float:
        """Return one collector's share in GPUs."""
        return self.gpu_units / UNITS_PER_GPU

    @property
    def unused_gpu_per_pod(self) -> float:
        """Return the GPUs of a full pod that no collector uses, with fractions."""
        return (self.gpus_per_pod * UNITS_PER_GPU - self.per_pod * self.gpu_units) / UNITS_PER_GPU

    @property
    def surplus_gpu(self) -> float:
        """Return the GPUs of all worker pods that no collector uses, with fractions."""
        return self.surplus_units / UNITS_PER_GPU


def pack_groups(groups: Mapping[str, WorkerGroup]) -> dict[str, Packing] | Refusal:
    """Pack every group and return the packings by name, sorted, or return the first Refusal."""
    packed: dict[str, Packing] = {}
    for name in sorted(groups):
        found = pack(groups[name])
        if isinstance(found, Refusal):
            return found
        packed[name] = found
    return packed


def pack(group: WorkerGroup) -> Packing | Refusal:
    """Pack the collectors of a group into pods.

    A pod has as many collectors as its GPUs and custom resources allow, or one if collectors request neither. Return a
    Refusal if ``collectors_per_pod`` is larger.
    """
    units = gpu_units(group.gpu)
    if isinstance(units, Refusal):
        return units
    gpus = group.gpus_per_pod if units else 0
    of_gpus = _fitting_gpus(units, gpus, group.collectors_per_pod)
    if isinstance(of_gpus, Refusal):
        return of_gpus
    of_custom = _fitting_custom(group.custom, group.collectors_per_pod)
    if isinstance(of_custom, Refusal):
        return of_custom
    bounds = [fitting for fitting in (of_gpus, of_custom) if fitting is not None]
    per_pod = group.collectors_per_pod or min(bounds, default=1)
    return _packing(group.replicas, per_pod=per_pod, gpus_per_pod=gpus, units=units)


def _fitting_gpus(units: int, gpus: int, collectors_per_pod: int | None) -> int | Refusal | None:
    """Return how many collectors fit into a pod by GPUs, or None if they request no GPU."""
    if units == 0:
        return None
    fitting = collectors_that_fit(units, gpus)
    if fitting == 0:
        return _too_small(units, gpus)
    if collectors_per_pod is not None and collectors_per_pod > fitting:
        return _too_many(units, gpus, collectors_per_pod, fitting)
    return fitting


def _fitting_custom(custom: CustomResources, collectors_per_pod: int | None) -> int | Refusal | None:
    """Return how many collectors fit into a pod by custom resources, or None if they request none."""
    fitting = custom_fitting(custom)
    if fitting is None or isinstance(fitting, Refusal) or collectors_per_pod is None:
        return fitting
    return too_many_for_custom(custom, collectors_per_pod) or fitting


def pods_for(replicas: int, per_pod: int) -> int:
    """Return the number of pods for ``replicas`` collectors. The last pod may have room for more."""
    return -(-replicas // per_pod)


def gpu_units(gpu: float, field: str = "spec.collectors.resources.gpu") -> int | Refusal:
    """Convert ``gpu`` to ten-thousandths of a GPU. Refuse finer shares, and fractions above one GPU."""
    if not 0 <= gpu < float("inf"):
        return Refusal(field, f"{gpu:g} is not a number of GPUs; use 0, a share below 1 such as 0.5, or whole GPUs")
    scaled = gpu * UNITS_PER_GPU
    units = round(scaled)
    if gpu > 1 and abs(gpu - round(gpu)) * UNITS_PER_GPU > _TOLERANCE_UNITS:
        below = int(gpu)
        return Refusal(
            field,
            f"{gpu!r} is more than one GPU and not whole; use {below}, {below + 1}, or a share below 1 such as 0.5",
        )
    if abs(scaled - units) > _TOLERANCE_UNITS:
        # Round down: with shares of 0.3334, only two collectors would fit on a GPU, although the user expects three.
        near = f"{max(int(scaled), 1) / UNITS_PER_GPU:.4f}"
        return Refusal(field, f"{gpu!r} is finer than 0.0001 of a GPU, the smallest step that Ray counts; use {near}")
    return units


def collectors_that_fit(units: int, gpus_per_pod: int) -> int:
    """Return how many collectors of ``units`` ten-thousandths fit on ``gpus_per_pod`` GPUs. No share spans two GPUs."""
    if units <= UNITS_PER_GPU:
        return gpus_per_pod * (UNITS_PER_GPU // units)
    return gpus_per_pod * UNITS_PER_GPU // units


def _too_small(units: int, gpus_per_pod: int) -> Refusal:
    return Refusal(
        "spec.collectors.resources.gpu",
        f"a collector requests {_gpus(units)}, but a worker pod has {_gpus(gpus_per_pod * UNITS_PER_GPU)} "
        f"(spec.workers.gpu.perPod); set perPod to at least {units // UNITS_PER_GPU}, or request fewer GPUs",
    )


def _too_many(units: int, gpus_per_pod: int, collectors_per_pod: int, fitting: int) -> Refusal:
    return Refusal(
        "spec.workers.collectorsPerPod",
        f"{counted(collectors_per_pod, 'collector')} of {_gpus(units)} "
        f"{'does' if collectors_per_pod == 1 else 'do'} not fit on a worker pod with "
        f"{_gpus(gpus_per_pod * UNITS_PER_GPU)}; use at most {fitting}, or a spec.workers.gpu.perPod of at "
        "least "
        f"{_gpus_needed(units, collectors_per_pod)}",
    )


def _packing(replicas: int, *, per_pod: int, gpus_per_pod: int, units: int) -> Packing:
    pods = pods_for(replicas, per_pod)
    surplus = pods * gpus_per_pod * UNITS_PER_GPU - replicas * units
    return Packing(replicas, per_pod, pods, gpus_per_pod, units, surplus)


def _gpus_needed(units: int, collectors: int) -> int:
    if units <= UNITS_PER_GPU:
        return -(-collectors // (UNITS_PER_GPU // units))
    return collectors * units // UNITS_PER_GPU


def _gpus(units: int) -> str:
    number = f"{units / UNITS_PER_GPU:.4f}".rstrip("0").rstrip(".")
    return f"{number} GPU" if units <= UNITS_PER_GPU else f"{number} GPUs"
