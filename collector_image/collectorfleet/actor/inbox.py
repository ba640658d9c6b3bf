"""The newest offered weights and the loaded weights of one policy in a collector.

Three threads use an inbox. The first thread receives offers, and loads an offer at once if no rollout runs. The second
thread runs rollouts. The third thread reports loaded versions to the driver. If an offer arrives during a rollout, the
third thread loads the offer after the rollout, while the second thread sends the frames. So the load does not delay the
frames. If the collector is configured to load weights during a rollout, the second thread loads them between two steps.
A new offer replaces an offer that is not loaded yet. So at most one offer waits for the end of a rollout.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from collectorfleet.actor.target import WeightsTarget
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import Segment


class Offer(NamedTuple):
    """The weights of a version, and the normalization of the environments.

    If ``normalization`` is None, the normalization of the environments does not change.
    """

    version: int
    weights: snapshots.Snapshot
    normalization: snapshots.Snapshot | None = None


class LoadedNormalization(Protocol):
    """The statistics of an environment. An offer can replace the statistics."""

    def load(self, snapshot: snapshots.Snapshot) -> str:
        """Load the statistics, and return the digest of the loaded statistics. Raise ValueError if they do not fit."""


class Inbox:
    """The offered weights that are not loaded yet, and the loaded version.

    Args:
        target: the tensors to load weights into.
        pass_on: a function that the inbox calls with the offer after each load. None: no function is called.
        normalization: the statistics of the environment. None: the environment has none.
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
        self._held = False
        self._offered: Offer | None = None
        self._version = 0
        self._digest = ""
        self._refused: Exception | None = None
        self._closed = False
        self._steps = 0
        self._segments: list[Segment] = []

    def offer(self, offered: Offer) -> None:
        """Load these weights at once. If a rollout is running, load the newest offered weights after the rollout.

        If the weights cannot be loaded, :meth:`next_applied` raises the error.
        """
        with self._changed:
            self._put(offered)
            if self._may_load:
                self._load_or_refuse()
            self._changed.notify_all()

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Load the waiting offer, and then no other weights inside the context. Use this between two rollouts.

        The first weights are loaded inside the context, too. Without them, the driver would regard a collector as hung
        if the user's code runs for some minutes.
        """
        with self._changed:
            self._load_or_refuse()
            self._held = True
        # The lock is free inside the context, because the user's code may run there for a long time.
        try:
            yield
        finally:
            with self._changed:
                self._held = False
                self._changed.notify_all()

    def next_applied(self, seen: int) -> tuple[int, str] | None:
        """Block until a version other than ``seen`` is loaded. Return the number and the digest of the loaded version.

        The call loads an offer that arrived during a rollout, as soon as the rollout has ended. There is no time limit.
        After :meth:`close`, the method returns None.

        Raises:
            ValueError: the offered weights belong to another policy. If loading raises another error, or :meth:`fail`
                was called, the method raises that error unchanged.
        """
        with self._changed:
            while True:
                if self._may_load:
                    self._load_offered()
                if self._version != seen or self._refused or self._closed:
                    break
                self._changed.wait()
            if self._refused:
                refused, self._refused = self._refused, None
                raise refused
            return None if self._closed else (self._version, self._digest)

    def begin_rollout(self, min_version: int, exactly: Offer | None = None, also: Offer | None = None) -> None:
        """Load weights for a rollout: ``exactly`` if given, otherwise the newest offer.

        ``also`` is an offer that arrived with the request.

        Without ``exactly``, the rollout needs version ``min_version`` or a newer version. The driver sends an offer
        before the first request that needs the offer, but a large offer may arrive after this request. So the call
        blocks until ``min_version`` or a newer version is loaded, or until the inbox is closed. The call has no time
        limit, because the driver limits the time of a request.
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
        """Load weights that were offered since the last step.

        The collector calls this before each action of the policy.
        """
        if self._running and self._offered is not None:
            with self._changed:
                self._load_offered()
                if self._steps == 0:
                    self._segments = [Segment(0, self._version)]
                elif self._segments[-1].version != self._version:
                    self._segments.append(Segment(self._steps, self._version))
        self._steps += 1

    def end_rollout(self) -> list[Segment]:
        """End a rollout. Return the versions of the rollout, each with its first step.

        If an offer waits, :meth:`next_applied` or the next :meth:`begin_rollout` loads the offer. Loading the offer
        here would delay the frames of the rollout.
        """
        with self._changed:
            self._running = False
            self._changed.notify_all()
            return self._segments

    def fail(self, error: Exception) -> None:
        """Make :meth:`next_applied` raise ``error``, an error that the weights did not cause."""
        with self._changed:
            self._refused = error
            self._changed.notify_all()

    def close(self) -> None:
        """Release all threads that wait for a version."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _put(self, offered: Offer) -> None:
        if offered.version > max(self._version, self._offered.version if self._offered else 0):
            self._offered = offered

    @property
    def _may_load(self) -> bool:
        """Whether no rollout and no call of the user needs unchanged weights."""
        return not (self._running or (self._held and self._version) or self._closed)

    def _load_or_refuse(self) -> None:
        """Load the waiting offer. If this raises an error, :meth:`next_applied` raises the error."""
        try:
            self._load_offered()
        except Exception as error:  # noqa: BLE001  (next_applied raises it)
            self._refused = error
            self._changed.notify_all()

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
