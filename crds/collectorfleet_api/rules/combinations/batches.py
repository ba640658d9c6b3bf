"""Rules for options about batches: options of one mode only, and options for the slowest shares."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.rules.combinations.questions import (
    FIRST_SHARES,
    STRAGGLERS,
    THRESHOLD,
    first_shares,
    threshold,
)
from collectorfleet_api.v1alpha1.collection import Mode
from collectorfleet_api.v1alpha1.collectors import CollectorClass
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


def _whole_trajectories(spec: CollectorFleetSpec) -> bool:
    return spec.collection.split_trajs or spec.collection.trajs_per_batch is not None


_TRAJECTORIES: Final = "self.collection.splitTrajs || has(self.collection.trajsPerBatch)"

ASYNC_ONLY: Final = (
    Combination(
        "staleness-in-async",
        "collection.maxStaleness",
        lambda spec: spec.collection.mode is Mode.SYNC or spec.collection.max_staleness != 0,
        "self.mode != 'Async' || !has(self.maxStaleness) || self.maxStaleness > 0",
        "0 is possible only in mode Sync: in mode Async, new versions are published while batches wait; use at least "
        "1, or leave maxStaleness out",
        on="collection",
    ),
)

SYNC_ONLY: Final = (
    Combination(
        "shares-in-sync",
        "collection.shares",
        lambda spec: spec.collection.shares is None or spec.collection.mode is Mode.SYNC,
        "!has(self.collection.shares) || self.collection.mode == 'Sync'",
        "in mode Async, a batch comes from one collector and has no shares; leave collection.shares out, or set "
        "collection.mode to Sync",
    ),
    Combination(
        "exact-staleness-in-sync",
        "collection.exactStaleness",
        lambda spec: not spec.collection.exact_staleness or spec.collection.mode is Mode.SYNC,
        "!self.collection.exactStaleness || self.collection.mode == 'Sync'",
        "in mode Async, the version of a batch is not fixed when the batch is requested; leave exactStaleness out and "
        "set maxStaleness",
    ),
    Combination(
        "stragglers-in-sync",
        "collection.stragglers",
        lambda spec: spec.collection.stragglers is None or spec.collection.mode is Mode.SYNC,
        "!has(self.collection.stragglers) || self.collection.mode == 'Sync'",
        "in mode Async, a batch waits for only one collector; leave collection.stragglers out",
    ),
)

STRAGGLING: Final = (
    Combination(
        "one-way-with-stragglers",
        "collection.stragglers",
        lambda spec: (
            spec.collection.stragglers is None or (first_shares(spec) is None) is not (threshold(spec) is None)
        ),
        f"!{STRAGGLERS} || has(self.collection.stragglers.firstShares)"
        " != has(self.collection.stragglers.preemptiveThreshold)",
        "set one of the two: with firstShares, late shares join the next batch; with preemptiveThreshold, late shares "
        "are cut short",
    ),
    Combination(
        "first-shares-need-staleness",
        "collection.stragglers.firstShares",
        lambda spec: first_shares(spec) is None or bool(spec.collection.max_staleness),
        f"!({FIRST_SHARES}) || (has(self.collection.maxStaleness) && self.collection.maxStaleness > 0)",
        "late shares join the next batch, where their weights are older; set collection.maxStaleness to at least 1, or "
        "use preemptiveThreshold",
    ),
    Combination(
        "first-shares-or-shares",
        "collection.stragglers.firstShares",
        lambda spec: first_shares(spec) is None or spec.collection.shares is None,
        f"!({FIRST_SHARES}) || !has(self.collection.shares)",
        "firstShares already sets the number of shares of a batch; leave collection.shares out",
    ),
    Combination(
        "threshold-between-0-and-1",
        "collection.stragglers.preemptiveThreshold",
        lambda spec: (part := threshold(spec)) is None or 0 < part < 1,
        f"!({THRESHOLD}) || (self.collection.stragglers.preemptiveThreshold > 0.0"
        " && self.collection.stragglers.preemptiveThreshold < 1.0)",
        "must be above 0 (waits for no share) and below 1 (waits for all shares); use a number such as 0.8, or leave "
        "stragglers out",
    ),
    Combination(
        "threshold-needs-class-single",
        "collection.stragglers.preemptiveThreshold",
        lambda spec: threshold(spec) is None or spec.collectors.collector_class is CollectorClass.SINGLE,
        f"!({THRESHOLD}) || self.collectors.class == 'Single'",
        "only a collector of one process can be cut short; set collectors.class to Single, or use firstShares",
    ),
    Combination(
        "threshold-or-whole-trajectories",
        "collection.stragglers.preemptiveThreshold",
        lambda spec: threshold(spec) is None or not _whole_trajectories(spec),
        f"!({THRESHOLD}) || !({_TRAJECTORIES})",
        "a share that is cut short has no whole trajectories; leave splitTrajs and trajsPerBatch out, "
        "or use firstShares",
    ),
    Combination(
        "exact-staleness-or-first-shares",
        "collection.exactStaleness",
        lambda spec: not spec.collection.exact_staleness or first_shares(spec) is None,
        f"!self.collection.exactStaleness || !({FIRST_SHARES})",
        "with stragglers.firstShares, a batch has late shares of older weights; leave exactStaleness out, or use "
        "preemptiveThreshold instead",
    ),
)
