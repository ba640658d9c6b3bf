"""``spec.collection``: how the driver gathers batches."""

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
    """How a Sync batch handles its slowest shares. Exactly one of the fields is set."""

    first_shares: Positive | None = Field(
        default=None,
        description=(
            "Number of shares after which the driver hands out a batch. Late shares join the next batch. The number "
            "must be less than `collectors.replicas`. Needs `maxStaleness` of 1 or more."
        ),
    )
    preemptive_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description=(
            "Fraction of the shares, between 0 and 1. Once this fraction has arrived, the other collectors return the "
            "frames that they have. Missing frames have `traj_ids` -1 and False in `collector/mask`."
        ),
    )


class Collection(Model):
    mode: Mode = Field(
        default=Mode.SYNC,
        description=(
            "Sync: all collectors make shares of a batch. Async: the driver hands out each collector's batch on "
            "arrival."
        ),
    )
    frames_per_batch: Positive | None = Field(
        default=None,
        description=(
            "Frames in one batch. Sync: collectors make these frames in equal `shares`. Async: one collector makes all "
            "frames. Required without `driver.script`."
        ),
    )
    total_frames: Positive | None = Field(
        default=None,
        description="Collection ends once at least this many frames were handed out. Absent: endless.",
    )
    max_staleness: Count | None = Field(
        default=None,
        description=(
            "Largest staleness, in versions, that a batch may have when the driver hands out the batch. Sync: the "
            "default is 0, strictly on-policy. With 1, collectors are exactly one batch ahead. Async: 1 or more. If "
            "the field is absent, there is no bound, and each collector has up to two requests in flight. With "
            "`trajsPerBatch` or `collectors.class: Async`, this number limits only how far collectors look ahead. "
            "Trajectories that span weight updates then contain frames of older versions."
        ),
    )
    exact_staleness: bool = Field(
        default=False,
        description=(
            "Sync: collectors make each batch with exactly the version that is newest when the batch is requested. "
            "With `maxStaleness: 1`, batches then lag by exactly one step."
        ),
    )
    shares: Positive | None = Field(
        default=None,
        le=10_000,
        description=(
            "Sync: number of equal shares of a batch. Any collector may make a share. Absent: one share for each "
            "collector, also after scaling."
        ),
    )
    stragglers: Stragglers | None = Field(
        default=None,
        description="Sync: how a batch handles its slowest shares. Absent: the batch waits for all shares.",
    )
    max_frames_per_traj: Positive | None = Field(
        default=None,
        description=(
            "After this many frames, a collector truncates the trajectory and resets the environment. Absent: never."
        ),
    )
    reset_at_each_iter: bool = Field(
        default=False,
        description="True: a collector resets its environments at the start of each share (Sync) or batch (Async).",
    )
    init_random_frames: Positive | None = Field(
        default=None,
        description=(
            "Number of frames with random actions at the start, of all collectors together. Absent: none. Not with "
            "`collectors.class: Async`."
        ),
    )
    exploration_type: ExplorationType = Field(
        default=ExplorationType.RANDOM,
        description="How actions are taken from the policy's distribution, as in TorchRL's ExplorationType.",
    )
    rollout: Rollout = Field(
        default=Rollout.AUTO,
        description=(
            "Loop that steps the environments. Auto: the fast loop if its frames equal those of TorchRL's collector in "
            "every entry, else TorchRL's loop. `status.collectors[].rollout` shows which loop is in use, and why. With "
            "Gymnasium's environments, the fast loop is several times as fast as TorchRL's. For other environments, "
            "the fast loop calls the environment's own step. Fast: the fast loop, or an error if the fast loop does "
            "not support the collector. TorchRL: TorchRL's loop."
        ),
    )
    compact_observations: bool = Field(
        default=False,
        description=(
            "If an observation equals the `next` observation of the previous step, send it only once. Batches do not "
            "change. For large observations, this about halves network traffic and object store memory. The comparison "
            "costs some time."
        ),
    )
    split_trajs: bool = Field(
        default=False,
        description="Pad batches to `[trajectories, longest]`. `collector/mask` is True for real frames.",
    )
    trajs_per_batch: Positive | None = Field(
        default=None,
        description=(
            "Number of whole trajectories that a collector returns for each request. They are padded to "
            "`[trajectories, longest]`, and `collector/mask` is True for real frames. Absent: the number of "
            "frames is fixed."
        ),
    )
    postproc: Factory | None = Field(
        default=None,
        description=(
            "Factory that builds a function. The driver changes each batch with this function before it hands out the "
            "batch. The driver calls the factory once. An example is `torchrl.data.postprocs:MultiStep`."
        ),
    )
    copied: bool = Field(
        default=True,
        alias="copy",
        description=(
            "True: batches are in the driver's memory. False: batches are read-only views of Ray's object store. This "
            "saves a copy, but each batch stays in the store as long as your code references the batch."
        ),
    )

    transport: Transport = Field(
        default=Transport.OBJECT_STORE,
        description=(
            "How pods send frames and weights. ObjectStore: Ray's object store, with one copy of each version on each "
            "node. TorchDistributed: a torch.distributed process group (gloo), without Ray. Needs `launcher: Job`."
        ),
    )

    @property
    def staleness_bound(self) -> int | None:
        """Return the staleness bound in versions, with its default. In mode Async, None means no bound."""
        if self.max_staleness is None and self.mode is Mode.SYNC:
            return 0
        return self.max_staleness
