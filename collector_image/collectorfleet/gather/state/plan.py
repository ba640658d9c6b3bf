"""The plan of a gather: shares, bounds and totals. Only the shares change, when a fleet is resized."""

from __future__ import annotations

from dataclasses import dataclass

# The requests in flight per collector. With a second request, a collector continues while its answer is sent.
DEPTH = 2


@dataclass(frozen=True)
class Plan:
    """The plan of a gather. A batch has several shares, and each share is one request to one collector.

    Args:
        shares: the number of shares of one batch.
        frames_per_share: the number of frames of one request.
        in_order: true (Sync): a batch has the shares that were requested for it, and batches are handed out in order.
            Otherwise the oldest ``shares`` answers make a batch.
        bound: the largest allowed staleness in versions; None is unbounded.
        total_frames: no request is sent beyond this number of frames; None is endless.
        exact: every share of a batch runs with the version of the batch's admission.
        random_frames: the number of frames at the start with random actions, over all collectors.
        cut_short_after: once this many shares of a batch are answered, the others return the frames that they have.
        store_bytes: the limit of waiting and open shares in bytes, in the object store or the driver's memory; None is
            no limit.
    """

    shares: int
    frames_per_share: int
    in_order: bool
    bound: int | None
    total_frames: int | None
    exact: bool = False
    random_frames: int = 0
    cut_short_after: int | None = None
    store_bytes: int | None = None

    @property
    def frames_per_batch(self) -> int:
        return self.shares * self.frames_per_share

    @property
    def shares_per_admission(self) -> int:
        """The number of shares that are admitted together."""
        return self.shares if self.in_order else 1

    @property
    def admissions_per_batch(self) -> int:
        return 1 if self.in_order else self.shares
