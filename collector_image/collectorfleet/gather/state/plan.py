"""What a gather is to do: shapes, bounds and budgets. Does not change, but for the shares when a fleet is resized."""

from __future__ import annotations

from dataclasses import dataclass

# A second request lets a collector go on while its answer travels.
DEPTH = 2


@dataclass(frozen=True)
class Plan:
    """A batch is a number of shares, and each share is one request to one collector.

    Args:
        shares: of one batch.
        frames_per_share: what one request asks for.
        in_order: Sync: a batch has the shares that were requested for it, and batches are handed out in that order.
            Else the next ``shares`` answers make a batch, the oldest first, whatever they were requested for.
        bound: staleness in versions; None is unbounded.
        total_frames: no request is sent beyond it; None is endless.
        exact: every share of a batch runs with the version of the batch's admission.
        random_frames: how many frames are made with random actions first, over all collectors.
        cut_short_after: once so many shares of a batch are there, the others are to return what they have.
        store_bytes: how much may wait or be under way in the object store; None is no limit.
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
        """How many shares are requested together, and stay together if in order."""
        return self.shares if self.in_order else 1

    @property
    def admissions_per_batch(self) -> int:
        return 1 if self.in_order else self.shares
