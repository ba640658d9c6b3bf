"""The methods of a gather that the consumer's threads call: batches, weights, size, pause and end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from collectorfleet.errors import UserCodeError
from collectorfleet.gather.shared import Shared, Staged
from collectorfleet.gather.state.admissions import Batch
from collectorfleet.gather.state.plan import Plan
from collectorfleet.gather.state.versions import PublishResult, results
from collectorfleet.normalization import Normalization
from collectorfleet.scaling import ScalingPolicy
from collectorfleet.transport.interface import Transport
from collectorfleet_api.v1alpha1 import CollectorState

log = logging.getLogger("collectorfleet")


class Consumer:
    """The consumer's interface to the gather thread. Any thread may call any method.

    ``replanned(plan, collectors)`` returns the plan for a new number of collectors. If ``replanned`` is None, the plan
    never changes.
    """

    def __init__(
        self,
        shared: Shared,
        transport: Transport,
        scaling: ScalingPolicy,
        *,
        replanned: Callable[[Plan, int], Plan] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.shared = shared
        self._transport = transport
        self._scaling = scaling
        self._replanned = replanned
        self._clock = clock

    # ---------------------------------------------------------------- batches
    def next(self) -> Batch | None:
        """Block until a batch is ready, and return the batch. Return None at the end of the run.

        If an exception interrupts the call, the next call returns the batch that this call requested. Raises the error
        that ended the run, or CollectorClosed if the gather was closed.
        """
        started = self._clock()
        with self.shared.changed:
            if not self.request_batch():
                return None
            self.shared.wait_for(lambda: self.shared.due or self.shared.gather.finished)
            batch = self.take_batch()
            self.shared.statistics.waited(self._clock() - started)
            return batch

    def request_batch(self) -> bool:
        """Request a batch. Return False if the last batch was already handed out. The caller holds the lock.

        If an earlier request is still open, the call makes no second request.
        """
        self.shared.raise_if_over()
        if self.shared.gather.finished:
            return False
        self.shared.is_batch_wanted = not self.shared.gather.is_batch_wanted
        self.shared.gather.begun = True
        self._transport.wake()
        return True

    def take_batch(self) -> Batch | None:
        """Return the requested batch if it is ready, even if the run has ended. Otherwise return None.

        The caller holds the lock. Raises the error that ended the run if no batch is ready.
        """
        shared, gather = self.shared, self.shared.gather
        if gather.chosen is None:
            self.shared.raise_if_over()
            return None
        batch = gather.hand_out(gather.chosen)
        shared.statistics.handed_out(batch.frames, batch.staleness, self._clock(), datetime.now(UTC))
        shared.note_change(urgent=shared.statistics.batches == 1 or gather.finished)
        # The batch no longer counts for the staleness bound and for the limit of the store. So the gather may be able
        # to send more requests.
        self._transport.wake()
        return batch

    @property
    def finished(self) -> bool:
        """Whether all requested frames were handed out, or the run has already reached its goal."""
        with self.shared.changed:
            return self.shared.gather.finished

    @property
    def over(self) -> bool:
        """Whether the gather was closed, or ended with an error."""
        with self.shared.changed:
            return self.shared.over

    # ---------------------------------------------------------------- weights
    def stage(self, snapshot: Any) -> Staged:
        """Stage a snapshot. The gather thread publishes the staged snapshot as the next version.

        The snapshot replaces an earlier staged snapshot that is not published yet. Blocks until the snapshot is stored.
        After the call, the caller may change the tensors of the snapshot.
        """
        with self.shared.changed:
            self.raise_if_failed()
        started = self._clock()
        stored = self._transport.put(snapshot)
        staged = Staged(stored, self._clock() - started)
        with self.shared.changed:
            replaced, self.shared.staged = self.shared.staged, staged
            if replaced is not None:
                replaced.replaced_by, replaced.stored = staged, None
        self._transport.wake()
        return staged

    def wait_applied(self, staged: Staged, timeout: float) -> Mapping[str, PublishResult]:
        """Block until all expected collectors have applied the staged weights, or ``timeout`` seconds have passed.

        Return the result of each collector, by its name.
        """
        gather, slots = self.shared.gather, self.shared.slots

        def applied() -> bool:
            version = staged.final.version
            everybody = gather.collectors.available >= slots.expected_count
            return everybody and version is not None and (gather.collectors.acknowledged or 0) >= version

        with self.shared.changed:
            self.shared.wait_for(applied, timeout)
            in_order = slots.in_order()
            errors = {slot.name: slot.last_error for slot in in_order}
            return results(staged.final.version, {slot.name: self._applied(slot.name) for slot in in_order}, errors)

    def wait_published(self, timeout: float) -> None:
        """Block until no snapshot waits to be published, or ``timeout`` seconds have passed."""
        with self.shared.changed:
            self.shared.wait_for(lambda: self.shared.staged is None, timeout)

    def settle(self, timeout: float) -> None:
        """Block until the staged snapshot is published and acknowledged, or ``timeout`` seconds have passed.

        Returns at once if no collector is available to acknowledge the version, or if the staleness bound delays its
        publication.
        """
        gather, versions = self.shared.gather, self.shared.versions

        def settled() -> bool:
            has = gather.collectors.acknowledged
            if has is None:
                return True
            if self.shared.staged is not None:
                return not gather.may_advance()
            return versions.newest is None or has >= versions.newest.version

        with self.shared.changed:
            self.shared.wait_for(settled, timeout)

    def _applied(self, name: str) -> int | None:
        one = self.shared.gather.collectors.named(name)
        return one.applied_version if one is not None and one.state is CollectorState.READY else None

    # ---------------------------------------------------------------- size, pause, end
    def resize(self, collectors: int, min_available: int | None = None) -> None:
        """Change the number of collectors. If the scaling policy fails, end the run with its error and raise it."""
        shared = self.shared
        with shared.changed:
            pods = {one.id.name: one.pod for one in shared.gather.collectors}
            try:
                leaving = shared.slots.resize(collectors, pods, self._scaling)
            except UserCodeError as error:
                self.abort(error)
                raise
            if min_available is not None:
                shared.limits = replace(shared.limits, min_available=min_available)
            for name in leaving:
                log.info("%s is removed: %d collectors are requested", name, collectors)
            self._drain()
            if self._replanned is not None:
                shared.gather.plan = self._replanned(shared.gather.plan, collectors)
            shared.note_change(urgent=True)
        self._transport.wake()

    def drain_pods(self, pods: Collection[str]) -> None:
        """Drain exactly these pods. Collectors on these pods end after their current requests.

        A later call replaces the set of draining pods. A pod that is no longer in the set can get collectors again.
        """
        shared = self.shared
        with shared.changed:
            shared.draining_pods = frozenset(pods)
            shared.slots.set_draining_pods(shared.draining_pods)
            self._drain()
            shared.note_change(urgent=True)
        self._transport.wake()

    def node_died(self, node: str) -> None:
        """Record that the transport treats this node as dead.

        Losses of collectors on this node then do not count against the limit of restarts.
        """
        with self.shared.changed:
            self.shared.died_nodes.append(node)
        self._transport.wake()

    def _drain(self) -> None:
        living = self.shared.gather.collectors
        for one in living:
            drains = one.id.name in self.shared.slots.leaving or one.pod in self.shared.draining_pods
            living.drain(one.id.name, draining=drains)

    def pause(self, timeout: float) -> bool:
        """Stop sending requests, and block until all open requests are answered.

        If some requests are still open after ``timeout`` seconds, returns False. In this case the gather continues as
        before the call.
        """
        gather, is_quiet = self.shared.gather, False
        with self.shared.changed:
            before, gather.paused = gather.paused, True
            try:
                self.shared.wait_for(lambda: gather.collectors.busy == 0, timeout)
                is_quiet = gather.collectors.busy == 0
            finally:
                # If an exception interrupts pause(), the caller will not call resume(). So the gather must not stay
                # paused.
                if not is_quiet:
                    gather.paused = before
        self._transport.wake()
        return is_quiet

    @property
    def paused(self) -> bool:
        with self.shared.changed:
            return self.shared.gather.paused

    def resume(self) -> None:
        with self.shared.changed:
            self.shared.gather.paused = False
        self._transport.wake()

    @property
    def normalization(self) -> Normalization:
        """Return the running statistics of the environments' observations, by name."""
        with self.shared.changed:
            return self.shared.normalization.now

    def note_mapped(self, method: str) -> None:
        """Record that ``method`` was called in all current collectors.

        In collectors that start later, the method has not been called.
        """
        with self.shared.changed:
            self.shared.notices.mapped(method)

    def notify_status_change(self) -> None:
        """Wake the threads that wait for a change of the status."""
        with self.shared.changed:
            self.shared.note_change()

    def close(self) -> None:
        """End the gather. Returns at once."""
        with self.shared.changed:
            self.shared.closed = True
            self.shared.changed.notify_all()
        self._transport.wake()

    def abandon(self) -> None:
        """End the gather because its FleetCollector was deleted.

        This method acquires no lock, because the garbage collector may call it.
        """
        self.shared.closed = True
        self._transport.wake()

    def abort(self, error: Exception) -> None:
        """End the run. The next call of the consumer raises ``error``."""
        with self.shared.changed:
            self.shared.abort(error)
        self._transport.wake()

    def raise_if_failed(self) -> None:
        """If an error ended the gather, raise this error."""
        self.shared.raise_if_failed()
