"""The plan of a gather, and which arguments do not go together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torchrl.collectors import MultiAsyncCollector, MultiCollector

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.errors import InvalidOption
from collectorfleet.gather.state.plan import Plan
from collectorfleet_api.packing.shares import divides
from collectorfleet_api.packing.shares import shares as next_shares


def plan_of(
    *,
    frames_per_batch: int,
    total_frames: int,
    collectors: int,
    sync: bool,
    shares: int | None,
    steps_of: int,
    max_staleness: int | None,
    exact_staleness: bool,
    first_shares: int | None,
    preemptive_threshold: float | None,
    init_random_frames: int,
) -> Plan:
    """The plan; a step of a collector makes ``steps_of`` frames.

    Raises:
        InvalidOption: combinations that cannot work, with their numbers.
    """
    if not sync and max_staleness == 0:
        raise InvalidOption("max_staleness: 0 in Async leaves one collector busy; use sync=True, or at least 1")
    for name, value in (
        ("shares", shares),
        ("exact_staleness", exact_staleness or None),
        ("first_shares", first_shares),
        ("preemptive_threshold", preemptive_threshold),
    ):
        if value is not None and not sync:
            raise InvalidOption(f"{name}: only with sync=True; in Async every answer is a batch of its own")
    if first_shares is not None:
        _check_first_shares(first_shares, collectors, max_staleness or 0, shares, exact_staleness, preemptive_threshold)
        shares = first_shares
    number = (shares or collectors) if sync else 1
    if sync and not divides(frames_per_batch, number, steps_of):
        raise InvalidOption(
            f"frames_per_batch: {frames_per_batch} does not divide into {number} shares of whole steps of "
            f"{steps_of} environments; use a multiple of {number * steps_of}"
        )
    return Plan(
        shares=number,
        frames_per_share=frames_per_batch // number,
        in_order=sync and first_shares is None,
        bound=(max_staleness or 0) if sync else max_staleness,
        total_frames=None if total_frames == -1 else total_frames,
        exact=exact_staleness,
        random_frames=init_random_frames,
        cut_short_after=_cut_short_after(preemptive_threshold, number),
    )


def _check_first_shares(
    first: int,
    collectors: int,
    bound: int,
    shares: int | None,
    exact: bool,
    threshold: float | None,
) -> None:
    if not 1 <= first < collectors:
        raise InvalidOption(f"first_shares: {first} of {collectors} collectors; use 1 to {collectors - 1}")
    if bound < 1:
        raise InvalidOption(
            f"first_shares: {first} leaves {collectors - first} shares to the next batch, which are a version older by "
            "then; allow it with max_staleness=1 or more"
        )
    for name, value in (("shares", shares), ("exact_staleness", exact or None), ("preemptive_threshold", threshold)):
        if value is not None:
            raise InvalidOption(f"first_shares: not together with {name}; choose one")


def _cut_short_after(threshold: float | None, shares: int) -> int | None:
    if threshold is None:
        return None
    if not 0 < threshold < 1:
        raise InvalidOption(f"preemptive_threshold: {threshold:g}; use a share between 0 and 1, such as 0.8")
    return max(1, int(shares * threshold))


def replanning(frames_per_batch: int, steps_of: int, preemptive_threshold: float | None) -> Callable[[Plan, int], Plan]:
    """How a plan changes with the number of collectors: its batch is split into other shares."""

    def replanned(plan: Plan, collectors: int) -> Plan:
        number = next_shares(frames_per_batch, collectors, steps_of)
        return replace(
            plan,
            shares=number,
            frames_per_share=frames_per_batch // number,
            cut_short_after=_cut_short_after(preemptive_threshold, number),
        )

    return replanned


def check_collector(config: CollectorConfig, plan: Plan) -> None:
    """What cannot work in one collector.

    Raises:
        InvalidOption: with what to change.
    """
    several = issubclass(config.collector_class, MultiCollector)
    mixes = issubclass(config.collector_class, MultiAsyncCollector) or config.options.get("trajs_per_batch") is not None
    if config.cut_short and (several or config.options.get("trajs_per_batch") is not None):
        raise InvalidOption("preemptive_threshold: only with collector_class 'single' and without trajs_per_batch")
    if config.update_between_steps and several:
        raise InvalidOption("update_between_steps: only with collector_class 'single'")
    if config.update_between_steps and plan.exact:
        raise InvalidOption("update_between_steps: not together with exact_staleness, which allows one version only")
    if mixes and config.options.get("compact_obs"):
        raise InvalidOption("compact_obs: not with trajs_per_batch or collector_class 'async'")
    if mixes and plan.exact:
        raise InvalidOption(
            "exact_staleness: not with trajs_per_batch or collector_class 'async', whose batches mix versions"
        )


def check_arguments(
    policy: Any, policy_factory: Any, replay_buffer: Any, *, split_trajs: bool, postproc: Any, plan: Plan
) -> None:
    """What does not go together in a fleet.

    Raises:
        InvalidOption: with what to change.
        TypeError: as TorchRL has it, for a replay buffer that collectors cannot write to.
    """
    if policy is not None and policy_factory is not None:
        raise InvalidOption("policy_factory: there is a policy already; pass one of the two")
    if getattr(policy, "service_backend", None) is not None:
        raise InvalidOption("policy: an inference service has no weights to publish; pass the module itself")
    if split_trajs and plan.cut_short_after is not None:
        raise InvalidOption("split_trajs: not together with preemptive_threshold, whose batches have gaps")
    if replay_buffer is None:
        return
    for name, value in (("split_trajs", split_trajs or None), ("postproc", postproc)):
        if value is not None:
            raise InvalidOption(
                f"{name}: not together with replay_buffer, which collectors write to themselves; "
                "give the buffer a transform, or extend it with the batches that the iteration yields"
            )
    if getattr(replay_buffer, "service_backend", None) != "ray":
        raise TypeError(
            "replay_buffer: collectors in other processes cannot write to a buffer of this one; build it with "
            "ReplayBuffer(..., service_backend='ray'), or extend it with the batches that the iteration yields"
        )
