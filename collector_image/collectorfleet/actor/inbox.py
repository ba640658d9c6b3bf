"""The weights that a collector was offered and the ones it has loaded.

Two threads meet here: offers arrive on one, rollouts run on the other. Weights are loaded while no rollout runs, or, if
the collector was made so, between two steps of one; the offer returns when that has happened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from collectorfleet.actor.target import WeightsTarget
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import Segment

# How long a rollout waits for weights on their way. Offers leave the driver before the requests that need them.
_WEIGHTS_WITHIN_SECONDS = 120.0


class Inbox:
    """``loaded``, if given, is called after each load with the version, to pass the weights on to other processes."""

    def __init__(self, target: WeightsTarget, loaded: Callable[[int], None] | None = None) -> None:
        self._target = target
        self._on_loaded = loaded
        self._changed = threading.Condition()
        self._busy = False
        self._offered: tuple[int, snapshots.Snapshot] | None = None
        self._version = 0
        self._digest = ""
        self._steps = 0
        self._segments: list[Segment] = []

    def offer(self, version: int, weights: snapshots.Snapshot) -> tuple[int, str]:
        """Return (version, digest) of what is loaded once that is ``version`` or newer, or once a newer offer came.

        Raises:
            ValueError: the weights are those of another policy.
        """
        with self._changed:
            if version > max(self._version, self._offered[0] if self._offered else 0):
                self._offered = (version, weights)
                if not self._busy:
                    self._load()
                self._changed.notify_all()
            newest = self._offered[0] if self._offered else self._version
            self._changed.wait_for(
                lambda: self._version >= version or (self._offered is not None and self._offered[0] > newest)
            )
            return self._version, self._digest

    def begin_rollout(self, min_version: int, exactly: tuple[int, snapshots.Snapshot] | None = None) -> None:
        """Load what the rollout is to run with: the newest offered, at least ``min_version``, or ``exactly`` that."""
        with self._changed:
            if exactly is not None:
                self._load_exactly(*exactly)
            else:
                self._load()
                if not self._changed.wait_for(lambda: self._version >= min_version, _WEIGHTS_WITHIN_SECONDS):
                    raise TimeoutError(
                        f"weights of version {min_version} did not arrive within {_WEIGHTS_WITHIN_SECONDS:g} s; "
                        f"version {self._version} is loaded"
                    )
            self._busy = True
            self._steps = 0
            self._segments = [Segment(0, self._version)]

    def before_step(self) -> None:
        """The policy is about to act in a running rollout: load what was offered meanwhile."""
        if self._busy and self._offered is not None:
            with self._changed:
                self._load()
                if self._steps == 0:
                    self._segments = [Segment(0, self._version)]
                elif self._segments[-1].version != self._version:
                    self._segments.append(Segment(self._steps, self._version))
        self._steps += 1

    def end_rollout(self) -> list[Segment]:
        """Load what waited for the end. Returns which versions the rollout ran with."""
        with self._changed:
            self._busy = False
            segments = self._segments
            self._load()
            return segments

    def _load(self) -> None:
        if self._offered is None:
            return
        version, weights = self._offered
        self._offered = None
        self._load_now(version, weights)
        self._changed.notify_all()

    def _load_exactly(self, version: int, weights: snapshots.Snapshot) -> None:
        if self._version != version:
            self._load_now(version, weights)
        if self._offered is not None and self._offered[0] <= version:
            self._offered = None
        self._changed.notify_all()

    def _load_now(self, version: int, weights: snapshots.Snapshot) -> None:
        digest = self._target.load(weights)
        self._version, self._digest = version, digest
        if self._on_loaded is not None:
            self._on_loaded(version)
