"""Splits the policies that a fleet trains into shards, and computes the GPU share of each policy.

For example, ten policies on 4 GPUs have 4 shards with room for 3, 3, 2 and 2 policies. Each shard has one GPU, and each
policy has 0.3333 GPU.

A shard is one replay actor and its policies, all in one pod. All policies request the same amount: the share that a
policy of the fullest shard can have. So Ray can place shards and policies in any order. A GPU that is not full has room
for another policy. A pod with fewer shards than planned has room for the next shard. The replay actor requests no
GPU, because even a hundredth of a GPU would leave no room for the second policy with half a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from collectorfleet_api.counts import counted
from collectorfleet_api.packing.pods import UNITS_PER_GPU, collectors_that_fit, gpu_units
from collectorfleet_api.packing.quantity import format_cpu
from collectorfleet_api.packing.refusal import Refusal


@dataclass(frozen=True)
class LearnerGroup:
    """A request for ``max_policies`` policies. Together, they have ``gpus`` GPUs: a share below 1, or whole GPUs.

    ``shards`` overrides the number of shards. The default is one shard for each whole GPU, at least one and at most
    ``max_policies``. Without GPUs, the default is ``max_policies``.
    """

    max_policies: int
    gpus: float = 0.0
    shards: int | None = None
    policy_cpus: Fraction = Fraction(1)
    replay_cpus: Fraction = Fraction(1)


@dataclass(frozen=True)
class PodSize:
    """CPUs and whole GPUs of a pod that has room for shards."""

    cpus: Fraction
    gpus: int = 0


@dataclass(frozen=True)
class ShardPacking:
    """A packing with one shard for each entry of ``slots``.

    An entry is the number of policies that fit into the shard.
    """

    slots: tuple[int, ...]
    gpu_units: int  # the share of one policy, in ten-thousandths of a GPU
    surplus_units: int  # requested GPUs that no policy uses, in ten-thousandths

    @property
    def gpu_per_policy(self) -> float:
        """Return the share of one policy in GPUs."""
        return self.gpu_units / UNITS_PER_GPU

    @property
    def surplus_gpu(self) -> float:
        """Return the requested GPUs that no policy uses, with fractions."""
        return self.surplus_units / UNITS_PER_GPU


def pack_shards(group: LearnerGroup, pods: Sequence[PodSize]) -> ShardPacking | Refusal:
    """Split policies into shards that fit ``pods`` in every order of placement.

    Return a Refusal with the numbers if the policies do not fit.
    """
    units = gpu_units(group.gpus, "gpus")
    if isinstance(units, Refusal):
        return units
    if group.max_policies < 1:
        return Refusal("max_policies", f"{group.max_policies} is less than 1")
    if not (group.policy_cpus > 0 and group.replay_cpus > 0):
        return Refusal(
            "policy_cpus, replay_cpus", "0 or less reserves no room for a policy; use a number above 0, such as 0.1"
        )
    shards = _shards(group.max_policies, units) if group.shards is None else group.shards
    if not 1 <= shards <= group.max_policies:
        return Refusal(
            "shards",
            f"{_policies(group.max_policies)} cannot be split into {counted(shards, 'shard')}; use 1 to "
            f"{group.max_policies}",
        )
    each, more = divmod(group.max_policies, shards)
    slots = tuple(each + (index < more) for index in range(shards))
    share = _share(units, shards, slots[0])
    if units and not share:
        return Refusal(
            "gpus",
            f"{group.gpus:g} GPU for {_policies(group.max_policies)} is less than 0.0001 each, the smallest step that "
            "Ray counts; use more GPUs or fewer policies",
        )
    packing = ShardPacking(slots, share, units - group.max_policies * share)
    return _not_held(packing, group, pods) or packing


def _shards(max_policies: int, units: int) -> int:
    return min(max(units // UNITS_PER_GPU, 1), max_policies) if units else max_policies


def _share(units: int, shards: int, slots: int) -> int:
    """Return the GPU share of each policy, in ten-thousandths.

    A shard has at most ``slots`` policies, and no share spans two GPUs.
    """
    gpus = units // UNITS_PER_GPU
    if gpus == 0:
        return units // (shards * slots)
    if gpus < shards:
        return UNITS_PER_GPU // (_ceil(shards, gpus) * slots)
    of_shard = gpus // shards
    if of_shard >= slots:
        return of_shard // slots * UNITS_PER_GPU
    return UNITS_PER_GPU // _ceil(slots, of_shard)


def _not_held(packing: ShardPacking, group: LearnerGroup, pods: Sequence[PodSize]) -> Refusal | None:
    wanted, slots = len(packing.slots), packing.slots[0]
    shard = PodSize(group.replay_cpus + slots * group.policy_cpus, gpus_touched(slots, packing.gpu_units))
    held = [_held(pod, shard, slots, packing.gpu_units) for pod in pods]
    if sum(held) >= wanted:
        return None
    each = f" of {packing.gpu_per_policy:g} GPU" if packing.gpu_units else ""
    asked = f"a shard of {_policies(slots)}{each} requests {_size(shard)} in one pod"
    if any(held):
        return Refusal(
            "shards",
            f"{asked}, but {counted(len(pods), 'pod')} can hold only {sum(held)} of {wanted} shards; add room for "
            f"{wanted - sum(held)} more, or request less",
        )
    largest = max(pods, key=lambda pod: (pod.gpus, pod.cpus), default=PodSize(Fraction(0)))
    return Refusal(
        "shards",
        f"{asked}, but the largest of {counted(len(pods), 'pod')} has {_size(largest)}; use larger pods or more shards",
    )


def _held(pod: PodSize, shard: PodSize, slots: int, share: int) -> int:
    """Return how many shards of ``slots`` policies fit into a pod in every order of placement."""
    by_cpu = int(pod.cpus // shard.cpus)
    return min(by_cpu, collectors_that_fit(share, pod.gpus) // slots) if share else by_cpu


def gpus_touched(slots: int, share: int) -> int:
    """Return the whole GPUs that ``slots`` policies of one pod need."""
    if share >= UNITS_PER_GPU:
        return slots * share // UNITS_PER_GPU
    return _ceil(slots, UNITS_PER_GPU // share) if share else 0


def _size(pod: PodSize) -> str:
    cpus = f"{format_cpu(pod.cpus)} CPU"
    return f"{counted(pod.gpus, 'GPU')} and {cpus}" if pod.gpus else cpus


def _policies(number: int) -> str:
    return counted(number, "policy", "policies")


def _ceil(number: int, by: int) -> int:
    return -(-number // by)
