"""The plan of a gather: shares, bounds and totals. If a fleet is resized, only the shares change."""

from __future__ import annotations

from dataclasses import dataclass

# The largest number of open requests of a collector. With a second request, the collector continues to collect while
# its answer is sent.
DEPTH = 2


@dataclass(frozen=True)
class Plan:
    """The plan of a gather. A batch has several shares, and each share is one request to one collector.

    Args:
        shares: the number of shares of one batch.
        frames_per_share: the number of frames of one request.
        in_order: if true (Sync), a batch has the shares that were requested for this batch, and batches are handed out
            in order. If false, the ``shares`` oldest answers make a batch.
        bound: the largest allowed staleness of a batch, in versions. None: there is no limit.
        total_frames: the number of frames after which no more requests are sent. None: the run has no end.
        exact: whether all shares of a batch use the version that was the newest version at the batch's admission.
        random_frames: at the start of a run, this number of frames has random actions. The frames of all collectors
            count together.
        cut_short_after: as soon as this number of shares of a batch is answered, the other requests of the batch are
            cut short. None: no request is cut short.
        store_bytes: the limit, in bytes, for the total size of waiting and open shares in the object store or in the
            driver's memory. None: there is no limit.
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
