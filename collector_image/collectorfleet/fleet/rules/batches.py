"""Rules about the contents of a batch, missing frames, mixed versions, and replay buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.rule import Question, Rule, not_both

_ONLY_SINGLE: Final = "only with collector_class 'single' and without trajs_per_batch"


def _cut_short(options: FleetArguments) -> bool:
    return options.preemptive_threshold is not None


def _whole_trajectories(options: FleetArguments) -> bool:
    return options.keywords(0).get("trajs_per_batch") is not None


def _compiles_one_graph(options: FleetArguments) -> bool:
    """Return whether a collector compiles its policy with ``fullgraph``.

    A full graph cannot contain calls of Python.
    """
    given = [dict(keywords or {}).get("compile_policy") for keywords in options.of_each("collector_kwargs").values]
    return any(isinstance(one, Mapping) and one.get("fullgraph") for one in given)


def _not_into_a_buffer(name: str) -> Rule:
    return Rule(
        "replay-buffer-or-batches",
        name,
        not_both(name, "replay_buffer"),
        "not together with replay_buffer, which collectors write to themselves; "
        "give the buffer a transform, or extend it with the batches that the iteration yields",
    )


def _equal_for_a_buffer(name: str, differ: Question) -> Rule:
    return Rule(
        "distributed-buffer-takes-equal-batches",
        name,
        lambda options: not (options.writes_equal_batches and differ(options)),
        "not with a replay buffer of transport='distributed', which takes batches of one size only; build it with "
        "transport='ray'",
    )


BATCHES: Final = (
    Rule(
        "threshold-needs-class-single",
        "preemptive_threshold",
        lambda options: not (_cut_short(options) and options.has_processes),
        _ONLY_SINGLE,
    ),
    Rule(
        "threshold-or-whole-trajectories",
        "preemptive_threshold",
        lambda options: not (_cut_short(options) and _whole_trajectories(options)),
        _ONLY_SINGLE,
    ),
    Rule(
        "threshold-or-whole-trajectories",
        "split_trajs",
        not_both("split_trajs", "preemptive_threshold"),
        "not together with preemptive_threshold, whose batches have gaps",
    ),
    Rule(
        "update-between-steps-needs-class-single",
        "update_between_steps",
        lambda options: not (options.update_between_steps and options.has_processes),
        "only with collector_class 'single'",
    ),
    Rule(
        "update-between-steps-breaks-the-graph",
        "update_between_steps",
        lambda options: (
            not (options.update_between_steps and options.rollout != RolloutLoop.FAST and _compiles_one_graph(options))
        ),
        "not with compile_policy={'fullgraph': True}: in TorchRL's loop the weights are loaded inside of the call "
        "that is compiled; leave fullgraph out, or use rollout 'fast'",
    ),
    Rule(
        "exact-staleness-or-update-between-steps",
        "update_between_steps",
        not_both("update_between_steps", "exact_staleness"),
        "not together with exact_staleness, which allows one version only",
    ),
    Rule(
        "compact-observations-of-one-version",
        "compact_obs",
        lambda options: not (options.mixes_versions and options.keywords(0).get("compact_obs")),
        "not with trajs_per_batch or collector_class 'async'",
    ),
    Rule(
        "exact-staleness-or-mixed-versions",
        "exact_staleness",
        lambda options: not (options.mixes_versions and options.exact_staleness),
        "not with trajs_per_batch or collector_class 'async', whose batches mix versions",
    ),
    _not_into_a_buffer("split_trajs"),
    _not_into_a_buffer("postproc"),
    _not_into_a_buffer("compact_observations"),
    _equal_for_a_buffer("preemptive_threshold", _cut_short),
    _equal_for_a_buffer("trajs_per_batch", _whole_trajectories),
    Rule(
        "replay-buffer-is-shared",
        "replay_buffer",
        lambda options: (
            options.replay_buffer is None or getattr(options.replay_buffer, "service_backend", None) == "ray"
        ),
        "Ray actors on other nodes cannot share a buffer of this process; build it with ReplayBuffer(..., "
        "service_backend='ray'), or extend it with the batches that the iteration yields",
        TypeError,
    ),
)
