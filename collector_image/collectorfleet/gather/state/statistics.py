"""The counts and times of a gather that the status shows."""

from __future__ import annotations

from collections import deque
from datetime import datetime
from math import isfinite

from collectorfleet.messages import Episodes

_RATE_WINDOW_SECONDS = 30.0
_STALENESS_BATCHES = 100
_EPISODES = 100


class Statistics:
    """Counts and times of a gather. Times are of the caller's monotonic clock, in seconds."""

    def __init__(self) -> None:
        self.frames_collected = 0
        self.frames_handed_out = 0
        self.frames_too_late = 0
        self.batches = 0
        self._batches_before = 0
        self.last_batch_time: datetime | None = None
        self.throttled_seconds = 0.0
        self.stalenesses: deque[int] = deque(maxlen=_STALENESS_BATCHES)
        self.pickled = 0
        self.episodes = 0
        self.returns: deque[float] = deque(maxlen=_EPISODES)
        self.lengths: deque[int] = deque(maxlen=_EPISODES)
        self._busy_seconds = 0.0
        self._alive_seconds = 0.0
        self._alive: tuple[float, int, int] | None = None
        self._waited_seconds = 0.0
        self._first_batch_at: float | None = None
        self._throttled_since: float | None = None
        self._recent: deque[tuple[float, int]] = deque()

    def restore(self, frames: int, batches: int) -> None:
        """Continue the counts of an earlier run."""
        self.frames_collected = self.frames_handed_out = frames
        self.batches = self._batches_before = batches

    def collected(self, frames: int, pickled: int) -> None:
        self.frames_collected += frames
        self.pickled += pickled

    def ended(self, episodes: Episodes) -> None:
        """Record episodes that ended in collected frames. Only the newest 100 lengths and finite returns are kept."""
        self.episodes += len(episodes.returns)
        self.returns.extend(filter(isfinite, episodes.returns))
        self.lengths.extend(episodes.lengths)

    def came_too_late(self, frames: int) -> None:
        """Record frames that were collected but are no longer needed."""
        self.frames_collected += frames
        self.frames_too_late += frames

    def handed_out(self, frames: int, staleness: int, now: float, time: datetime) -> None:
        self.frames_handed_out += frames
        self.batches += 1
        self.stalenesses.append(staleness)
        self.last_batch_time = time
        if self._first_batch_at is None:
            # The wait for the first batch is part of the start of the fleet. So this wait does not count as idle time.
            self._first_batch_at, self._waited_seconds = now, 0.0
        self._recent.append((now, frames))
        self._forget_before(now - _RATE_WINDOW_SECONDS)

    def waited(self, seconds: float) -> None:
        if self.batches > self._batches_before + 1:
            self._waited_seconds += seconds

    def throttled(self, held_back: bool, now: float) -> None:
        if self._throttled_since is not None:
            self.throttled_seconds += now - self._throttled_since
        self._throttled_since = now if held_back else None

    def occupied(self, ready: int, busy: int, now: float) -> None:
        """Record that from ``now`` on, ``ready`` collectors are available, and ``busy`` of them have requests."""
        if self._alive is not None:
            since, were_ready, were_busy = self._alive
            self._alive_seconds += (now - since) * were_ready
            self._busy_seconds += (now - since) * were_busy
        self._alive = (now, ready, busy)

    def collector_idle_ratio(self) -> float | None:
        """Return the fraction of time that available collectors spent without a request.

        Return None if no collector was available so far.
        """
        return round(1 - self._busy_seconds / self._alive_seconds, 3) if self._alive_seconds else None

    def frames_per_second(self, now: float) -> float | None:
        """Return the rate of handed-out frames over the last 30 s, or since the first batch if the run is shorter.

        Return None before the second batch.
        """
        if self._first_batch_at is None or self.batches < self._batches_before + 2:
            return None
        since = max(self._first_batch_at, now - _RATE_WINDOW_SECONDS)
        # The first batch was collected before ``since``, so only later batches count.
        frames = sum(n for at, n in self._recent if at > since)
        return frames / (now - since) if now > since else None

    def driver_idle_ratio(self, now: float) -> float | None:
        """Return the fraction of the time since the first batch that the consumer spent waiting for batches.

        Return None before the first batch.
        """
        if self._first_batch_at is None or now <= self._first_batch_at:
            return None
        return min(1.0, self._waited_seconds / (now - self._first_batch_at))

    @property
    def remembered(self) -> int:
        """The number of batches that are stored to compute the rate."""
        return len(self._recent)

    def _forget_before(self, then: float) -> None:
        while self._recent and self._recent[0][0] < then:
            self._recent.popleft()
