"""Rules about the contents of a batch, missing frames, mixed versions, and replay buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.rule import Question, Rule, not_both


def _cut_short(options: FleetArguments) -> bool:
    return options.preemptive_threshold is not None


def _whole_trajectories(options: FleetArguments) -> bool:
    return options.keywords(0).get("trajs_per_batch") is not None


def _compiles_one_graph(options: FleetArguments) -> bool:
    """Return whether a collector compiles its policy with ``fullgraph``.

    With ``fullgraph``, the compiled function cannot call code that torch does not compile.
    """
    given = [dict(keywords or {}).get("compile_policy") for keywords in options.of_each("collector_kwargs").values]
    return any(isinstance(one, Mapping) and one.get("fullgraph") for one in given)


def _not_into_a_buffer(name: str) -> Rule:
    return Rule(
        "replay-buffer-or-batches",
        name,
        not_both(name, "replay_buffer"),
        "no batch passes through the driver, because collectors write to replay_buffer themselves; give the buffer a "
        "transform, or extend the buffer yourself with each batch",
    )


def _equal_for_a_buffer(name: str, differ: Question) -> Rule:
    return Rule(
        "distributed-buffer-takes-equal-batches",
        name,
        lambda options: not (options.writes_equal_batches and differ(options)),
        "cannot be used with a replay buffer of transport='distributed', which takes only batches of one size; build "
        "the buffer with transport='ray'",
    )


BATCHES: Final = (
    Rule(
        "threshold-needs-class-single",
        "preemptive_threshold",
        lambda options: not (_cut_short(options) and options.has_processes),
        "only a collector of one process can be cut short; use collector_class 'single', or first_shares",
    ),
    Rule(
        "threshold-or-whole-trajectories",
        "preemptive_threshold",
        lambda options: not (_cut_short(options) and _whole_trajectories(options)),
        "collectors that are cut short deliver no whole trajectories; leave trajs_per_batch out, or use first_shares",
    ),
    Rule(
        "threshold-or-whole-trajectories",
        "split_trajs",
        not_both("split_trajs", "preemptive_threshold"),
        "batches with preemptive_threshold have gaps and cannot be split into trajectories; leave split_trajs or "
        "preemptive_threshold out",
    ),
    Rule(
        "update-between-steps-needs-class-single",
        "update_between_steps",
        lambda options: not (options.update_between_steps and options.has_processes),
        "only a collector of one process loads weights between its steps; use collector_class 'single', or leave "
        "update_between_steps out",
    ),
    Rule(
        "update-between-steps-breaks-the-graph",
        "update_between_steps",
        lambda options: (
            not (options.update_between_steps and options.rollout != RolloutLoop.FAST and _compiles_one_graph(options))
        ),
        "cannot be used with compile_policy={'fullgraph': True}, because TorchRL's loop loads the weights inside the "
        "compiled call; leave fullgraph out, or use rollout 'fast'",
    ),
    Rule(
        "exact-staleness-or-update-between-steps",
        "update_between_steps",
        not_both("update_between_steps", "exact_staleness"),
        "batches would have frames of several versions, but exact_staleness allows only one version; leave "
        "update_between_steps or exact_staleness out",
    ),
    Rule(
        "compact-observations-of-one-version",
        "compact_obs",
        lambda options: not (options.mixes_versions and options.keywords(0).get("compact_obs")),
        "cannot be used with trajs_per_batch or collector_class 'async', whose batches mix versions; leave compact_obs "
        "out",
    ),
    Rule(
        "exact-staleness-or-mixed-versions",
        "exact_staleness",
        lambda options: not (options.mixes_versions and options.exact_staleness),
        "cannot be used with trajs_per_batch or collector_class 'async', whose batches mix versions; leave "
        "exact_staleness out",
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
        "Ray actors on other nodes cannot write to a buffer in this process; use ReplayBuffer(..., "
        "service_backend='ray'), or extend the buffer yourself with each batch",
        TypeError,
    ),
)
