"""The weights of one policy that a collector was offered, and the ones that it has loaded.

Three threads meet here: offers arrive on one, rollouts run on another, and a third waits to tell the driver what was
loaded. Weights are loaded while no rollout runs, or, if the collector was made so, between two steps of one. An offer
replaces the one before it: nothing queues behind a rollout, and what was replaced is never loaded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from collectorfleet.actor.target import WeightsTarget
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import Segment


class Offer(NamedTuple):
    """A version: its weights, and with which normalization environments go on from it; None: as they are."""

    version: int
    weights: snapshots.Snapshot
    normalization: snapshots.Snapshot | None = None


class LoadedNormalization(Protocol):
    """The statistics of an environment, which a version brings along."""

    def load(self, snapshot: snapshots.Snapshot) -> str:
        """Load the statistics and return the digest of the loaded ones. Raises ValueError if they do not fit."""


class Inbox:
    """``pass_on``, if given, is called after each load with what was loaded, to tell others in the collector.

    ``normalization`` is that of the environment, None if it has none.
    """

    def __init__(
        self,
        target: WeightsTarget,
        pass_on: Callable[[Offer], None] | None = None,
        normalization: LoadedNormalization | None = None,
    ) -> None:
        self._target = target
        self._pass_on = pass_on
        self._normalization = normalization
        self._changed = threading.Condition()
        self._running = False
        self._offered: Offer | None = None
        self._version = 0
        self._digest = ""
        self._refused: Exception | None = None
        self._closed = False
        self._steps = 0
        self._segments: list[Segment] = []

    def offer(self, offered: Offer) -> None:
        """Load these weights as soon as no rollout runs, unless newer ones are here. Loads now if there is none.

        Weights that cannot be loaded are told by :meth:`next_applied`.
        """
        with self._changed:
            try:
                self._put(offered)
                if not self._running:
                    self._load_offered()
            except Exception as error:  # noqa: BLE001  (there is nobody here to tell)
                self._refused = error
            self._changed.notify_all()

    def next_applied(self, seen: int) -> tuple[int, str] | None:
        """Block until another version than ``seen`` is loaded: returns it with its digest. None after :meth:`close`.

        Raises:
            ValueError: offered weights are those of another policy. Or whatever else loading them raised, or what
                :meth:`fail` was given.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._version != seen or self._refused or self._closed)
            if self._refused:
                refused, self._refused = self._refused, None
                raise refused
            return None if self._closed else (self._version, self._digest)

    def begin_rollout(self, min_version: int, exactly: Offer | None = None, also: Offer | None = None) -> None:
        """Load what the rollout is to run with: ``exactly`` that, else the newest offered, at least ``min_version``.

        ``also`` is an offer that came along with the request. Offers leave the driver before the requests that need
        them, and may be large: blocks until they are here. Who waits too long for the rollout is the driver.
        """
        with self._changed:
            if exactly is not None:
                self._load_exactly(exactly)
            else:
                if also is not None:
                    self._put(also)
                self._load_offered()
                self._changed.wait_for(lambda: self._version >= min_version or self._closed)
            self._running = True
            self._steps = 0
            self._segments = [Segment(0, self._version)]

    def before_step(self) -> None:
        """The policy is about to act in a running rollout: load what was offered meanwhile."""
        if self._running and self._offered is not None:
            with self._changed:
                self._load_offered()
                if self._steps == 0:
                    self._segments = [Segment(0, self._version)]
                elif self._segments[-1].version != self._version:
                    self._segments.append(Segment(self._steps, self._version))
        self._steps += 1

    def end_rollout(self) -> list[Segment]:
        """Load what waited for the end. Returns which versions the rollout ran with."""
        with self._changed:
            self._running = False
            segments = self._segments
            self._load_offered()
            return segments

    def fail(self, error: Exception) -> None:
        """Have :meth:`next_applied` raise ``error``, which is none of the weights'."""
        with self._changed:
            self._refused = error
            self._changed.notify_all()

    def close(self) -> None:
        """Let go whoever waits for the next version."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _put(self, offered: Offer) -> None:
        if offered.version > max(self._version, self._offered.version if self._offered else 0):
            self._offered = offered

    def _load_offered(self) -> None:
        if self._offered is not None:
            offered, self._offered = self._offered, None
            self._load(offered)

    def _load_exactly(self, exactly: Offer) -> None:
        if self._version != exactly.version:
            self._load(exactly)
        if self._offered is not None and self._offered.version <= exactly.version:
            self._offered = None

    def _load(self, offered: Offer) -> None:
        digest = self._target.load(offered.weights)
        if self._normalization is not None and offered.normalization is not None:
            digest += f"+{self._normalization.load(offered.normalization)}"
        self._version, self._digest = offered.version, digest
        if self._pass_on is not None:
            self._pass_on(offered)
        self._changed.notify_all()
