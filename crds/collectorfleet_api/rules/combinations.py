"""Options that need or exclude each other.

Each stands here once, for the API server as CEL and for Python, under one sentence: ``crd_rules`` and ``validation``
read the same table. ``self`` of the CEL is the spec.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from collectorfleet_api.v1alpha1.collection import Mode
from collectorfleet_api.v1alpha1.collectors import CollectorClass
from collectorfleet_api.v1alpha1.output import OutputFormat
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


@dataclass(frozen=True)
class Combination:
    """What has to hold between the options of a spec, and the sentence for when it does not.

    ``numbers`` are the fields whose values stand in ``with_numbers`` for its ``%d`` and ``%s``.
    """

    field: str
    holds: Callable[[CollectorFleetSpec], bool]
    cel: str
    sentence: str
    with_numbers: str = ""
    numbers: tuple[str, ...] = ()

    def told(self, spec: CollectorFleetSpec) -> str:
        """The sentence, with the numbers of ``spec`` where it has some."""
        if not self.with_numbers:
            return self.sentence
        wire = spec.to_wire()
        return self.with_numbers % tuple(_shown(reduce(_inner, path.split("."), wire)) for path in self.numbers)


def _inner(node: Any, key: str) -> Any:
    return node[key]


def _shown(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) else value  # as CEL does


def _first_shares(spec: CollectorFleetSpec) -> int | None:
    stragglers = spec.collection.stragglers
    return stragglers.first_shares if stragglers else None


def _threshold(spec: CollectorFleetSpec) -> float | None:
    stragglers = spec.collection.stragglers
    return stragglers.preemptive_threshold if stragglers else None


def _cuda_indices(spec: CollectorFleetSpec) -> list[int]:
    """Which of its own GPUs a collector's devices name; plain ``cuda`` is the first."""
    named = [device.partition(":") for device in spec.collectors.devices.named.values()]
    return [int(index or 0) for kind, _, index in named if kind == "cuda"]


def _trains(spec: CollectorFleetSpec) -> bool:
    return spec.driver.train is not None


def _whole_trajectories(spec: CollectorFleetSpec) -> bool:
    return spec.collection.split_trajs or spec.collection.trajs_per_batch is not None


_TRAJECTORIES: Final = "self.collection.splitTrajs || has(self.collection.trajsPerBatch)"
_STRAGGLERS: Final = "has(self.collection.stragglers)"
_FIRST: Final = f"{_STRAGGLERS} && has(self.collection.stragglers.firstShares)"
_THRESHOLD: Final = f"{_STRAGGLERS} && has(self.collection.stragglers.preemptiveThreshold)"
_TRAINS: Final = "has(self.driver.train)"
_ALL_DEVICES: Final = ("device", "storingDevice", "envDevice", "policyDevice")
_DEVICES: Final = " + ".join(
    f"(has(self.collectors.devices.{name}) ? [self.collectors.devices.{name}] : [])" for name in _ALL_DEVICES
)

_SYNC_ONLY: Final = (
    Combination(
        "collection.shares",
        lambda spec: spec.collection.shares is None or spec.collection.mode is Mode.SYNC,
        "!has(self.collection.shares) || self.collection.mode == 'Sync'",
        "shares are parts of a Sync batch; leave it out in mode Async, where a batch comes from one collector",
    ),
    Combination(
        "collection.exactStaleness",
        lambda spec: not spec.collection.exact_staleness or spec.collection.mode is Mode.SYNC,
        "!self.collection.exactStaleness || self.collection.mode == 'Sync'",
        "only Sync batches have one version; leave it out in mode Async, and bound the staleness with maxStaleness",
    ),
    Combination(
        "collection.stragglers",
        lambda spec: spec.collection.stragglers is None or spec.collection.mode is Mode.SYNC,
        "!has(self.collection.stragglers) || self.collection.mode == 'Sync'",
        "only a Sync batch waits for several collectors; leave it out in mode Async",
    ),
)

_STRAGGLING: Final = (
    Combination(
        "collection.stragglers",
        lambda spec: (
            spec.collection.stragglers is None or (_first_shares(spec) is None) is not (_threshold(spec) is None)
        ),
        f"!{_STRAGGLERS} || has(self.collection.stragglers.firstShares)"
        " != has(self.collection.stragglers.preemptiveThreshold)",
        "set firstShares or preemptiveThreshold, one of them: late shares join the next batch, or they are cut short",
    ),
    Combination(
        "collection.stragglers.firstShares",
        lambda spec: _first_shares(spec) is None or bool(spec.collection.max_staleness),
        f"!({_FIRST}) || (has(self.collection.maxStaleness) && self.collection.maxStaleness > 0)",
        "late shares join the next batch, which has newer weights; set collection.maxStaleness to 1 or more, "
        "or use preemptiveThreshold",
    ),
    Combination(
        "collection.stragglers.firstShares",
        lambda spec: _first_shares(spec) is None or spec.collection.shares is None,
        f"!({_FIRST}) || !has(self.collection.shares)",
        "a batch has that many shares, whichever come first; leave collection.shares out",
    ),
    Combination(
        "collection.stragglers.preemptiveThreshold",
        lambda spec: (threshold := _threshold(spec)) is None or 0 < threshold < 1,
        f"!({_THRESHOLD}) || (self.collection.stragglers.preemptiveThreshold > 0.0"
        " && self.collection.stragglers.preemptiveThreshold < 1.0)",
        "0 waits for no share and 1 for all; use a number between them, such as 0.8, or leave stragglers out",
    ),
    Combination(
        "collection.stragglers.preemptiveThreshold",
        lambda spec: _threshold(spec) is None or spec.collectors.collector_class is CollectorClass.SINGLE,
        f"!({_THRESHOLD}) || self.collectors.class == 'Single'",
        "only a collector of one process can be cut short; set collectors.class to Single, or use firstShares",
    ),
    Combination(
        "collection.stragglers.preemptiveThreshold",
        lambda spec: _threshold(spec) is None or not _whole_trajectories(spec),
        f"!({_THRESHOLD}) || !({_TRAJECTORIES})",
        "a share that is cut short has no whole trajectories; leave splitTrajs and trajsPerBatch out, "
        "or use firstShares",
    ),
    Combination(
        "collection.exactStaleness",
        lambda spec: not spec.collection.exact_staleness or _first_shares(spec) is None,
        f"!self.collection.exactStaleness || !({_FIRST})",
        "with stragglers.firstShares a batch has late shares of older weights; leave one of the two out, "
        "or use preemptiveThreshold",
    ),
)

_VERSIONS: Final = (
    Combination(
        "collection.exactStaleness",
        lambda spec: not (spec.collection.exact_staleness and spec.weights.update_between_steps),
        "!(self.collection.exactStaleness && self.weights.updateBetweenSteps)",
        "with weights.updateBetweenSteps a batch has frames of newer weights; leave one of the two out",
    ),
    Combination(
        "collection.exactStaleness",
        lambda spec: not spec.collection.exact_staleness or _trains(spec),
        f"!self.collection.exactStaleness || {_TRAINS}",
        "without driver.train there is one version of the weights, and all batches have it; leave it out",
    ),
    Combination(
        "collection.exactStaleness",
        lambda spec: (
            not spec.collection.exact_staleness
            or (spec.collection.trajs_per_batch is None and spec.collectors.collector_class is not CollectorClass.ASYNC)
        ),
        "!self.collection.exactStaleness || (!has(self.collection.trajsPerBatch) && self.collectors.class != 'Async')",
        "with trajsPerBatch or collectors.class Async a batch has frames of older weights; leave one of the two out",
    ),
    Combination(
        "weights.updateBetweenSteps",
        lambda spec: not spec.weights.update_between_steps or spec.collectors.collector_class is CollectorClass.SINGLE,
        "!self.weights.updateBetweenSteps || self.collectors.class == 'Single'",
        "only a collector of one process loads weights between its steps; set collectors.class to Single, "
        "or leave it out",
    ),
    Combination(
        "weights.updateBetweenSteps",
        lambda spec: not spec.weights.update_between_steps or _trains(spec),
        f"!self.weights.updateBetweenSteps || {_TRAINS}",
        "without driver.train there are no new weights to load; leave it out",
    ),
    Combination(
        "weights.maxWeightUpdateInterval",
        lambda spec: spec.weights.max_weight_update_interval is None or _trains(spec),
        f"!has(self.weights.maxWeightUpdateInterval) || {_TRAINS}",
        "without driver.train there are no new weights to publish; leave it out",
    ),
    Combination(
        "weights.maxWeightUpdateInterval",
        lambda spec: spec.weights.max_weight_update_interval is None or not spec.weights.update_after_each_batch,
        "!has(self.weights.maxWeightUpdateInterval) || !self.weights.updateAfterEachBatch",
        "weights are published after each batch anyway; set updateAfterEachBatch to false, or leave the interval out",
    ),
)

_INSIDE: Final = (
    Combination(
        "collectors.numWorkersPerCollector",
        lambda spec: (
            spec.collectors.num_workers_per_collector == 1
            or spec.collectors.collector_class is not CollectorClass.SINGLE
        ),
        "self.collectors.numWorkersPerCollector == 1 || self.collectors.class != 'Single'",
        "class Single has one process; set collectors.class to Sync or Async, "
        "or step several environments in it with environment.perCollector",
        "%d, and class Single has one process; set collectors.class to Sync or Async, "
        "or step several environments in it with environment.perCollector",
        ("collectors.numWorkersPerCollector",),
    ),
    Combination(
        "collectors.devices",
        lambda spec: not _cuda_indices(spec) or spec.collectors.resources.gpu > 0,
        f"self.collectors.resources.gpu > 0.0 || !({_DEVICES}).exists(d, d.startsWith('cuda'))",
        "cuda needs a GPU; set collectors.resources.gpu, to a share such as 0.25 or to whole GPUs, or use cpu",
    ),
    Combination(
        "collectors.devices",
        lambda spec: all(index < max(1, spec.collectors.resources.gpu) for index in _cuda_indices(spec)),
        f"({_DEVICES}).all(d, !d.startsWith('cuda:') || int(d.substring(5)) == 0"
        " || double(int(d.substring(5))) < self.collectors.resources.gpu)",
        "a collector sees its own GPUs, counted from 0; use a lower index, or raise collectors.resources.gpu",
        "a collector sees its own GPUs (collectors.resources.gpu is %s), counted from 0; use a lower index, "
        "or raise it",
        ("collectors.resources.gpu",),
    ),
)

_SINKS: Final = (
    Combination(
        "collection.splitTrajs",
        lambda spec: not (spec.collection.split_trajs and spec.collection.trajs_per_batch),
        "!(self.collection.splitTrajs && has(self.collection.trajsPerBatch))",
        "batches of trajsPerBatch have one trajectory in each row already; leave one of the two out",
    ),
    Combination(
        "replayBuffer",
        lambda spec: (
            spec.replay_buffer is None
            or not (spec.collection.postproc or spec.collection.split_trajs or not spec.collection.copied)
        ),
        "!has(self.replayBuffer)"
        " || (!has(self.collection.postproc) && !self.collection.splitTrajs && self.collection.copy)",
        "collectors write into it themselves, and no batch is handed out; leave collection.postproc, splitTrajs and "
        "copy out",
    ),
    Combination(
        "replayBuffer",
        lambda spec: spec.replay_buffer is None or _trains(spec),
        f"!has(self.replayBuffer) || {_TRAINS}",
        "nobody samples from it without driver.train; set that, or write the frames out with output.replayBuffer",
    ),
    Combination(
        "output.replayBuffer",
        lambda spec: (
            spec.output is None
            or (spec.output.format is OutputFormat.REPLAY_BUFFER) == (spec.output.replay_buffer is not None)
        ),
        "!has(self.output) || (self.output.format == 'ReplayBuffer') == has(self.output.replayBuffer)",
        "belongs to format ReplayBuffer, which needs it; set both or neither",
    ),
)

COMBINATIONS: Final = (*_SYNC_ONLY, *_STRAGGLING, *_VERSIONS, *_INSIDE, *_SINKS)
