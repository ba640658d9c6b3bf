"""The gather thread. Only this thread uses the transport.

The thread also runs while the consumer trains, so collectors continue to collect.

Read :meth:`GatherLoop.turn` first. Its steps are: publish, start, submit, choose a batch, offer weights, wait for
messages, and process them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from collectorfleet.codec.snapshot import EMPTY_SNAPSHOT
from collectorfleet.errors import CollectorFleetError, InfrastructureError
from collectorfleet.gather.awake import AwakeClock
from collectorfleet.gather.draining import Draining
from collectorfleet.gather.losses import Losses
from collectorfleet.gather.normalization_store import NormalizationStore
from collectorfleet.gather.outbox import Outbox
from collectorfleet.gather.publishing import Publishing
from collectorfleet.gather.shared import Shared
from collectorfleet.gather.state.collector import Collector
from collectorfleet.messages import (
    Answer,
    Applied,
    Lost,
    Message,
    Placed,
    Raised,
    Request,
    ServiceLost,
    Started,
)
from collectorfleet.recovery.failure import FailurePolicy
from collectorfleet.transport.interface import Transport
from collectorfleet_api.v1alpha1 import CollectorState

log = logging.getLogger("collectorfleet")

# The interval at which the thread checks deadlines and restart delays. All other events wake the thread.
_LONGEST_WAIT_SECONDS = 0.25
# The interval while the rate limit delays offers. It is shorter, so that the thread sends these offers soon.
_PACED_WAIT_SECONDS = 0.01


class GatherLoop:
    """The thread that uses the transport. It shares its state with the consumer's threads."""

    def __init__(
        self,
        shared: Shared,
        transport: Transport,
        failure: FailurePolicy,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shared = shared
        self._transport = transport
        self._outbox = Outbox(transport)
        self._clock = clock  # for measurements; deadlines use self._awake
        self._awake = AwakeClock(clock)
        self._losses = Losses(shared, self._outbox, failure, self._awake())
        self._normalization = NormalizationStore(shared, transport)
        self._publishing = Publishing(shared, self._outbox, self._normalization)
        self._draining = Draining(shared, self._losses)
        self._thread = threading.Thread(target=self._run, name="collectorfleet-gather", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout: float | None) -> None:
        """Block until the thread has ended. The thread ends after the consumer has closed the gather."""
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _run(self) -> None:
        try:
            while not self._shared.over:
                self.turn()
        except BaseException as error:  # without the error, the consumer would wait forever
            log.exception("the gather thread failed")
            with self._shared.changed:
                self._shared.abort(_as_internal_error(error))
        finally:
            self._transport.close()

    def turn(self) -> None:
        """Do all actions that are possible now. Then wait for messages, and process them."""
        shared = self._shared
        with shared.changed:
            now = self._awake()
            self._publishing.publish_staged()
            # If weights were staged before the consumer's request for a batch, publish these weights first. The
            # staleness bound assumes this order.
            if shared.is_batch_wanted and not (shared.staged and shared.gather.may_advance()):
                shared.gather.is_batch_wanted, shared.is_batch_wanted = True, False
            self._start_and_drain(now)
            self._submit(now)
            if shared.gather.choose():
                shared.note_change()
                self._submit(now)
            self._count_time(self._clock())
            wait = _LONGEST_WAIT_SECONDS if self._publishing.offer_newest(now) else _PACED_WAIT_SECONDS
        self._outbox.flush()
        messages = self._transport.wait(wait)
        with shared.changed:
            now = self._awake()
            for message in messages:
                self._accept(message, now)
            self._losses.check(now)
        self._outbox.flush()

    # ---------------------------------------------------------------- requests to collectors
    def _start_and_drain(self, now: float) -> None:
        shared = self._shared
        if shared.has_weights and shared.versions.newest is None:
            return  # a collector cannot begin without weights
        for slot in shared.slots.to_fill(now):
            collector = shared.next_incarnation(slot.name)
            shared.gather.collectors.starting(collector, slot.index, now, slot.group)
            self._outbox.start(collector)
        self._draining.drain()

    def _submit(self, now: float) -> None:
        gather = self._shared.gather
        for one, request in gather.submissions(now):
            self._outbox.submit(
                one.id, self._with_parameters(one, request), self._publishing.weights_for_request(one, request)
            )
        for one, request_id in gather.stragglers():
            self._outbox.cut_short(one.id, request_id)

    def _count_time(self, now: float) -> None:
        gather, statistics = self._shared.gather, self._shared.statistics
        statistics.throttled(gather.throttled, now)
        statistics.occupied(gather.collectors.available, gather.collectors.busy, now)

    def _with_parameters(self, one: Collector, request: Request) -> Request:
        """Return the request. If the collector lacks the newest parameters, add these parameters to the request."""
        parameters = self._shared.parameters
        if parameters is None:
            return request
        if parameters.version_of(one.id.name, one.group) <= one.parameters_sent:
            return request
        newest = parameters.of(one.id.name, one.group)
        one.parameters_sent = newest.version
        return replace(request, parameters=newest)

    # ---------------------------------------------------------------- messages of collectors
    def _accept(self, message: Message, now: float) -> None:
        shared = self._shared
        one = shared.gather.collectors.find(message.collector)
        if one is None:  # the message is from a retired incarnation
            if isinstance(message, Answer):
                shared.statistics.came_too_late(message.frames)
            return
        match message:
            case Placed(pod=pod, node=node):
                shared.gather.collectors.placed(one, pod, node, now)
                shared.note_change()
            case Started():
                self._built(one, message, now)
            case Applied(version=version, digest=digest):
                self._acknowledged(one, version, shared.versions.proven(version, digest), now)
            case Answer():
                self._answered(one, message, now)
            case Raised():
                self._losses.raised(one, message, now)
            case ServiceLost(error=error):
                shared.abort(error)
            case Lost(cause=cause, fault=fault, request_id=None):
                self._losses.lost(one, cause, fault, now)
            case Lost(cause=cause, request_id=int(request_id)):
                # The request and its parameters may have been lost, too. So the next request sends the parameters
                # again.
                one.parameters_sent = one.parameters
                log.warning("%s: an answer was lost; the request is sent again: %s", one.id.name, cause)
                shared.gather.answer_lost(one, request_id, now)
                shared.note_change()

    def _built(self, one: Collector, started: Started, now: float) -> None:
        shared, pod = self._shared, started.pod
        shared.gather.collectors.built(one, pod, started.pid, now, started.loop)
        log.info("%s: the rollout loop is %s", one.id.name, started.loop)
        for notice in shared.notices.of_built(one.id.name, started.findings):
            log.warning(notice)
        shared.drained_pods.pop(pod, None)
        if pod in shared.draining_pods:
            shared.gather.collectors.drain(one.id.name, draining=True)
        carries = self._normalization.reported(one.id.name, started.normalization or {})
        if carries and not shared.has_weights:
            # The normalization is sent with versions of the weights. So from now on, this fleet publishes versions that
            # have no weights.
            self._publishing.publish_as_next(self._transport.put(EMPTY_SNAPSHOT), 0.0)
        if not shared.has_weights:
            self._applied(one, 0, now)
            return
        newest = shared.versions.newest_with(self._normalization.now())
        if newest is not None:
            self._publishing.offer(one, newest)
        shared.note_change()

    def _answered(self, one: Collector, answer: Answer, now: float) -> None:
        shared = self._shared
        self._losses.note_duration(one, answer.seconds)
        self._publishing.answered()
        shared.gather.answered(one, answer, now)
        if answer.normalization:
            shared.normalization.merge(answer.normalization)
        shared.statistics.collected(answer.frames, answer.pickled)
        if answer.parameters is not None and answer.parameters != one.parameters:
            one.parameters = answer.parameters
            shared.note_change()
        if answer.episodes:
            shared.statistics.ended(answer.episodes)
        if answer.loop is not None:
            one.loop = answer.loop
            is_new = shared.notices.is_new(one.loop)
            log.log(
                logging.WARNING if is_new else logging.INFO,
                "%s: the collector now uses the rollout loop %s",
                one.id.name,
                one.loop,
            )
            shared.note_change()
        if answer.first_starts and (warning := shared.first_starts.noted(one.id, answer.first_starts)):
            log.warning(warning)
        slot = shared.slots.by_name[one.id.name]
        slot.batches += 1
        slot.frames += answer.frames
        if shared.gather.paused:
            shared.note_change()

    def _acknowledged(self, one: Collector, version: int, proven: bool | None, now: float) -> None:
        if proven:
            self._applied(one, version, now)
        elif proven is None:
            log.info(
                "%s applied version %d, which can no longer be verified; the collector already has newer offers",
                one.id,
                version,
            )
        else:
            cause = f"the loaded version {version} has another digest than the published version"
            self._losses.weights_failed(one, version, cause, now)

    def _applied(self, one: Collector, version: int, now: float) -> None:
        shared = self._shared
        joined = one.state is not CollectorState.READY
        if not joined and version <= (one.applied_version or 0):
            return  # for a request of an exact version, the collector loaded an older version again
        shared.gather.collectors.applied(one, version, now)
        log.info("%s applied version %d", one.id.name, version)
        shared.versions.acknowledged(shared.gather.collectors.acknowledged)
        shared.note_change(urgent=joined)


def _as_internal_error(error: BaseException) -> CollectorFleetError:
    """Return ``error``, wrapped in an error of this package if necessary.

    So nobody mistakes an internal error for an error of the user's code.
    """
    return error if isinstance(error, CollectorFleetError) else InfrastructureError.of("gathering", error)
