"""``spec.collection``: how batches are gathered."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Count, Model, Positive
from collectorfleet_api.v1alpha1.factory import Factory


class Mode(StrEnum):
    SYNC = "Sync"
    ASYNC = "Async"


class ExplorationType(StrEnum):
    RANDOM = "Random"
    MODE = "Mode"
    MEDIAN = "Median"
    MEAN = "Mean"
    DETERMINISTIC = "Deterministic"


class Rollout(StrEnum):
    AUTO = "Auto"
    FAST = "Fast"
    TORCHRL = "TorchRL"


class Transport(StrEnum):
    OBJECT_STORE = "ObjectStore"
    TORCH_DISTRIBUTED = "TorchDistributed"


class Stragglers(Model):
    """Exactly one of them: what a Sync batch does about its slowest shares."""

    first_shares: Positive | None = Field(
        default=None,
        description=(
            "Number of shares in a batch: the first to arrive. Less than `collectors.replicas`. Late shares join "
            "the next batch. Needs `maxStaleness` of 1 or more."
        ),
    )
    preemptive_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description=(
            "Part of the shares, between 0 and 1. Once this part has arrived, the other collectors return the frames "
            "that they have. Missing frames have `traj_ids` -1 and False in `collector/mask`."
        ),
    )


class Collection(Model):
    mode: Mode = Field(
        default=Mode.SYNC,
        description=(
            "Sync: a batch is made of shares of all collectors. Async: each collector's batch is handed out when it"
            " arrives."
        ),
    )
    frames_per_batch: Positive | None = Field(
        default=None,
        description=(
            "Frames per batch handed out. Sync: split into equal `shares`. Async: frames of one collector's batch. "
            "Required without `driver.script`."
        ),
    )
    total_frames: Positive | None = Field(
        default=None,
        description="Collection ends once at least this many frames were handed out. Absent: endless.",
    )
    max_staleness: Count | None = Field(
        default=None,
        description=(
            "How many weight versions behind the current one the oldest frame of a batch may be when it is handed "
            "out. Sync: default 0, strictly on-policy; 1 collects exactly one batch ahead. Async: absent means "
            "unbounded with two requests in flight per collector; 0 is refused. With `trajsPerBatch` or class Async"
            " it bounds only how far collectors look ahead: trajectories that span updates have older frames."
        ),
    )
    exact_staleness: bool = Field(
        default=False,
        description=(
            "Sync: each batch is made with exactly the version that was the newest when the batch was requested. "
            "`maxStaleness: 1` is then a lag of exactly one step."
        ),
    )
    shares: Positive | None = Field(
        default=None,
        le=10_000,
        description=(
            "Sync: equal shares of a batch, each one request that any collector may answer. Absent: one for each "
            "collector, also after scaling."
        ),
    )
    stragglers: Stragglers | None = Field(
        default=None, description="Sync: do not wait for the slowest shares. Absent: a batch waits for all of them."
    )
    max_frames_per_traj: Positive | None = Field(
        default=None, description="Trajectories are cut off and reset after this many frames. Absent: never."
    )
    reset_at_each_iter: bool = Field(
        default=False, description="Reset the environments at the start of each batch, or of each share."
    )
    init_random_frames: Positive | None = Field(
        default=None,
        description=(
            "The first frames, this many over all collectors, come from random actions. Absent: none. Not with "
            "collectors.class Async."
        ),
    )
    exploration_type: ExplorationType = Field(
        default=ExplorationType.RANDOM,
        description="How actions are taken from the policy's distribution; TorchRL's ExplorationType.",
    )
    rollout: Rollout = Field(
        default=Rollout.AUTO,
        description=(
            "Which loop steps the environments. Auto: the fast loop if its frames equal the frames of TorchRL's "
            "collector in every entry, else TorchRL's loop. `status.collectors` has the loop and the reason. The "
            "fast loop is several times as fast with Gymnasium's environments. Other environments step themselves "
            "in the fast loop. Fast: an error if the fast loop cannot be used. TorchRL: TorchRL's loop."
        ),
    )
    compact_observations: bool = Field(
        default=False,
        description=(
            "Send an observation once if it equals the `next` of the previous step. Batches are the same. Large "
            "observations take about half of the network and of the object store, and some time to compare."
        ),
    )
    split_trajs: bool = Field(
        default=False,
        description="Hand out `[trajectories, longest]`, padded, with True in `collector/mask` for real frames.",
    )
    trajs_per_batch: Positive | None = Field(
        default=None,
        description=(
            "A collector answers each request with this many whole trajectories, `[trajectories, longest]`, and True "
            "in `collector/mask` for real frames. Absent: with frames."
        ),
    )
    postproc: Factory | None = Field(
        default=None,
        description=(
            "Builds a function from a collected batch to the batch that is handed out. The driver calls the factory"
            " once. An example is `torchrl.data.postprocs:MultiStep`."
        ),
    )
    copied: bool = Field(
        default=True,
        alias="copy",
        description=(
            "True: batches are the driver's own memory. False: read-only views of Ray's object store, which saves a "
            "copy and keeps the store filled for as long as the batch is referred to."
        ),
    )

    transport: Transport = Field(
        default=Transport.OBJECT_STORE,
        description=(
            "What carries frames and weights. ObjectStore: Ray's object store, one copy of a version for all of a "
            "node. TorchDistributed: a process group of torch.distributed (gloo), without Ray; needs `launcher: Job`."
        ),
    )

    @property
    def staleness_bound(self) -> int | None:
        """The bound in force, in versions; None is unbounded (Async only)."""
        if self.max_staleness is None and self.mode is Mode.SYNC:
            return 0
        return self.max_staleness
