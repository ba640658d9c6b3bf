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
            "frames that they have. For missing frames, `traj_ids` is -1 and `collector/mask` is False."
        ),
    )


class Collection(Model):
    mode: Mode = Field(
        default=Mode.SYNC,
        description=(
            "Sync: the collectors make each batch together, in equal shares. Async: each collector makes whole "
            "batches, and the driver hands out a batch as soon as it arrives."
        ),
    )
    frames_per_batch: Positive | None = Field(
        default=None,
        description=(
            "Frames in one batch. Sync: the batch consists of equal shares, and each share comes from one collector. "
            "Async: all frames of the batch come from one collector. Required without `driver.script`."
        ),
    )
    total_frames: Positive | None = Field(
        default=None,
        description="The collection ends when the driver has handed out at least this many frames. Absent: endless.",
    )
    max_staleness: Count | None = Field(
        default=None,
        description=(
            "Largest staleness, in versions, that a batch may have when the driver hands out the batch. Sync: the "
            "default is 0, strictly on-policy. With 1, collectors work exactly one batch ahead. Async: the number is 1 "
            "or more. If the number is absent, there is no bound, and each collector has up to two requests in flight. "
            "With `trajsPerBatch` or `collectors.class: Async`, this number limits only how far collectors look ahead. "
            "A trajectory that spans a weight update then contains frames of older versions."
        ),
    )
    exact_staleness: bool = Field(
        default=False,
        description=(
            "Sync: collectors make each batch with exactly the version that is newest when the driver "
            "requests the batch from them. With `maxStaleness: 1` and one publish for each batch, each batch "
            "after the first then lags by exactly one version."
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
        description=(
            "Sync: how the driver handles the slowest shares of a batch. Absent: the batch waits for all shares."
        ),
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
            "At the start, all collectors together make this many frames with random actions. Absent: none. Not with "
            "`collectors.class: Async`."
        ),
    )
    exploration_type: ExplorationType = Field(
        default=ExplorationType.RANDOM,
        description=(
            "How collectors choose an action from the policy's distribution. The values are those of TorchRL's "
            "ExplorationType."
        ),
    )
    rollout: Rollout = Field(
        default=Rollout.AUTO,
        description=(
            "Loop that steps the environments. Auto: the fast loop, if every entry of its frames equals the entry that "
            "TorchRL's collector makes. Otherwise: TorchRL's loop. `status.collectors[].rollout` shows which loop is "
            "in use, and why. With Gymnasium's environments, the fast loop is several times as fast as TorchRL's loop. "
            "For other environments, the fast loop calls the environment's own step. Fast: the fast loop, or an error "
            "if the fast loop does not support the collector. TorchRL: TorchRL's loop."
        ),
    )
    compact_observations: bool = Field(
        default=False,
        description=(
            "True: collectors send an observation only once if it equals the `next` observation of the previous step. "
            "Batches do not change. For large observations, network traffic and object store memory fall to about "
            "half. The comparison costs some time."
        ),
    )
    split_trajs: bool = Field(
        default=False,
        description=(
            "True: batches are padded to `[trajectories, longest]`, and `collector/mask` is True for real frames."
        ),
    )
    trajs_per_batch: Positive | None = Field(
        default=None,
        description=(
            "Number of whole trajectories that a collector returns for each request. The trajectories are padded to "
            "`[trajectories, longest]`, and `collector/mask` is True for real frames. Absent: each request returns a "
            "fixed number of frames."
        ),
    )
    postproc: Factory | None = Field(
        default=None,
        description=(
            "Factory that builds a function. The driver applies this function to each batch, and hands out the result. "
            "The driver calls the factory once. An example is `torchrl.data.postprocs:MultiStep`."
        ),
    )
    copied: bool = Field(
        default=True,
        alias="copy",
        description=(
            "True: the driver copies batches into its memory. False: batches are read-only views of Ray's object "
            "store, without a copy. Each batch then stays in the store as long as your code references the batch."
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
