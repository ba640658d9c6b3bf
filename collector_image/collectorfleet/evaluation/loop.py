"""The evaluation thread. It has its own transport for evaluators, so that no batch waits for evaluators.

Read :meth:`EvaluationLoop.turn` first. This method starts evaluators, submits episodes, waits for messages, and
processes these messages.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from collectorfleet.codec.snapshot import Snapshot, copied, take, tensors_by_name
from collectorfleet.errors import UserCodeError, describe
from collectorfleet.evaluation.result import EpisodeVideo, EvaluationResult
from collectorfleet.evaluation.state.evaluation import Candidate, EvaluationPlan, EvaluationState
from collectorfleet.evaluation.state.evaluators import Evaluator
from collectorfleet.evaluation.state.schedule import Schedule
from collectorfleet.gather.awake import AwakeClock
from collectorfleet.gather.outbox import Outbox
from collectorfleet.gather.shared import Shared
from collectorfleet.messages import (
    Answer,
    Applied,
    Fault,
    Lost,
    Message,
    Placed,
    Raised,
    ServiceLost,
    Started,
    Weights,
)
from collectorfleet.transport.interface import FleetTransport

log = logging.getLogger("collectorfleet")

# The interval at which the thread checks deadlines and restart delays. All other events wake the thread.
_LONGEST_WAIT_SECONDS: Final = 0.5
_KEPT_RESULTS: Final = 10_000


class EvaluationLoop:
    """The thread that uses the evaluators' transport. Other threads may read the state while they hold ``changed``.

    Args:
        shared: the state of the gather thread. The loop reads versions from ``shared``. If the user's code raises an
            error, the loop ends the run through ``shared``.
        transport: a transport that only evaluators use.
        plan: the settings of the evaluation.
        restarts_environments: whether an evaluator is restarted if its environment raises an error. Otherwise the error
            ends the run.
        keeps_best: whether the weights of the version with the highest mean return are kept in memory.
        clock: a monotonic clock, in seconds.
    """

    def __init__(
        self,
        shared: Shared,
        transport: FleetTransport,
        plan: EvaluationPlan,
        *,
        restarts_environments: bool,
        keeps_best: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # Deadlines do not count the time during which the driver process is stopped.
        self._awake = AwakeClock(clock)
        self.state = EvaluationState(plan, self._awake())
        self.results: deque[EvaluationResult] = deque(maxlen=_KEPT_RESULTS)
        self.keeps_best = keeps_best
        self.best: tuple[EvaluationResult, Snapshot] | None = None
        # A function that this thread calls with the videos of each evaluation. The thread holds the lock during the
        # call, so the function must not block.
        self.take_videos: Callable[[Sequence[EpisodeVideo]], None] = lambda _: None
        self.changed = threading.Condition()
        self._shared = shared
        self._transport = transport
        self._outbox = Outbox(transport)
        self._restarts_environments = restarts_environments
        self._clock = clock
        self._schedule = Schedule(plan.interval)
        # The gather thread adds versions to this queue while it holds its own lock. The evaluation thread sometimes
        # holds both locks. If the gather thread had to acquire ``changed``, too, a deadlock would be possible.
        self._due: queue.SimpleQueue[Candidate] = queue.SimpleQueue()
        self._latest: Candidate | None = None  # the newest published version
        self._has_warned_of_videos = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="collectorfleet-evaluation", daemon=True)

    # ---------------------------------------------------------------- any thread
    def start(self) -> None:
        self._thread.start()

    def published(self, weights: Weights, frames: int) -> None:
        """Record a published version. Returns at once. Only the gather thread calls this method."""
        self._latest = latest = Candidate(weights, frames)
        if self._closed:
            return  # the thread takes no more versions, so the queue would keep the weights of all later versions
        if self._schedule.is_due(weights.version, frames, self._clock()):
            self._due.put(latest)
            self._transport.wake()

    def finish(self, timeout: float | None, stop_requested: Callable[[], bool]) -> bool:
        """Evaluate the newest version, and block until the evaluation ends. Return whether the evaluation succeeded.

        The call stops waiting after ``timeout`` seconds. None: no time limit. The call also stops waiting if
        ``stop_requested`` returns True, or if an error has ended the run. It also stops waiting if no evaluator has
        been available for longer than an evaluator's build deadline.
        """
        with self.changed:
            latest = self._latest
            self._take_due()
            if latest is not None:
                self.state.run_ended(latest)
            self._transport.wake()
            self.changed.wait_for(lambda: self._has_finished() or stop_requested(), timeout)
            failure = self.state.why_evaluators_unavailable(self._awake())
            if failure is not None and not self._is_over:
                log.warning("evaluation: %s", failure)
                self.state.last_failure = failure
        return self.is_finished

    @property
    def is_finished(self) -> bool:
        """Whether the newest version was evaluated. True if there is no version yet. Any thread may read this."""
        with self.changed:
            latest, newest = self._latest, self.state.newest
            return latest is None or (newest is not None and newest.version >= latest.version)

    def _has_finished(self) -> bool:
        return self.state.idle or self._is_over or self.state.why_evaluators_unavailable(self._awake()) is not None

    def state_dict(self) -> dict[str, Any]:
        """Return the counts, the newest result and the best result. If the best weights are kept, return them, too."""
        with self.changed:
            best = self.best
            weights = None if best is None else tensors_by_name(best[1])
            return {**self.state.kept(), "best_weights": weights}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from the result of :meth:`state_dict`. Call this before the first version is published."""
        with self.changed:
            self.state.restored(state)
            weights = state.get("best_weights")
            if weights is not None and self.keeps_best and self.state.best is not None:
                self.best = (self.state.best, take(weights))
            elif self.keeps_best:
                # ``state`` lacks the weights of the earlier run's best result. The loop drops this result, because it
                # must be able to return the weights of the best result.
                self.state.best = None
            reached = self.state.reached
        if reached:
            with self._shared.changed:
                self._shared.gather.end()

    def close(self) -> None:
        """End the evaluators, and ignore later results. Returns at once.

        This method acquires no lock, because the garbage collector may call it.
        """
        self._closed = True
        self._transport.wake()

    def join(self, timeout: float | None) -> None:
        """Block until the thread has ended, or ``timeout`` seconds have passed. None: no time limit.

        The thread ends after :meth:`close`, or when the run has ended.
        """
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    @property
    def _is_over(self) -> bool:
        return self._closed or self._shared.over

    # ---------------------------------------------------------------- the evaluation thread
    def _run(self) -> None:
        try:
            while not self._is_over:
                self.turn()
        except Exception as error:
            log.exception("evaluation failed; the run continues without evaluation")
            with self.changed:
                self.state.last_failure = f"evaluation has ended: {describe(error)}"
        finally:
            self._closed = True
            self._transport.close()
            with self.changed:
                self.changed.notify_all()

    def turn(self) -> None:
        """Start evaluators and submit episodes if possible. Then wait up to 0.5 s for messages, and process them."""
        with self.changed:
            now = self._awake()
            for id_ in self.state.evaluators.to_start(now):
                self._outbox.start(id_)
            self._take_due()
            if self._is_ready_to_begin():
                for play in self.state.plays(now):
                    self._outbox.submit(play.evaluator, play.request, play.weights)
        self._outbox.flush()
        messages = self._transport.wait(_LONGEST_WAIT_SECONDS)
        with self.changed:
            if self._closed:
                return  # the last checkpoint may already be written without these results
            now = self._awake()
            for message in messages:
                self._accept(message, now)
            self._check(now)
            running, result = self.state.running, self.state.result(now, datetime.now(UTC))
            if result is not None and running is not None:
                self._note(result, running.candidate.weights)
            self.changed.notify_all()
        self._outbox.flush()
        if result is not None:
            self._announce()

    def _take_due(self) -> None:
        while not self._due.empty():
            self.state.due(self._due.get())

    def _is_ready_to_begin(self) -> bool:
        """Return whether evaluations can begin.

        They can begin as soon as the first collector has reported the normalization of the fleet.
        """
        waits = self.state.pending
        with self._shared.changed:
            if self._shared.normalization.reported_by is None:
                return False
            if waits is not None:
                # A version that was published before this report has no normalization yet. Add the normalization now.
                weights = self._shared.versions.with_first_normalization(waits.weights)
                self.state.pending = replace(waits, weights=weights)
        return True

    def _note(self, result: EvaluationResult, weights: Weights) -> None:
        self.results.append(result)
        newest = self.state.videos.newest
        if newest and newest[0].version == result.version:
            self.take_videos(newest)
        if self.keeps_best and self.state.best is result:
            # The weights are copied, because the transport's store frees its memory at shutdown.
            self.best = (result, copied(self._transport.read(weights.stored)))
        spread = "" if result.standard_error is None else f" +- {result.standard_error:.3g}"
        log.info(
            "evaluated version %d: mean return %.6g%s over %d episodes in %.1f s",
            *(result.version, result.mean, spread, len(result.returns), result.seconds),
        )

    def _announce(self) -> None:
        with self._shared.changed:
            if self.state.reached and not self._shared.gather.finished:
                log.info(
                    "the run ends: the mean return of an evaluation has reached %g", self.state.plan.stop_at_return
                )
                self._shared.gather.end()
            self._shared.note_change(urgent=True)

    # ---------------------------------------------------------------- messages of evaluators
    def _accept(self, message: Message, now: float) -> None:
        one = self.state.evaluators.find(message.collector)
        if one is None:  # the evaluator was lost after it sent the message
            return
        match message:
            case Placed():
                one.placed_at = now
            case Started():
                self.state.evaluators.built(one)
            case Applied(version=version, digest=digest):
                self._applied(one, version, digest, now)
            case Answer():
                self.state.answered(one, message)
            case Raised():
                self._raised(one, message, now)
            case ServiceLost(error=error):
                self._lost(one, str(error), now)
            case Lost(cause=cause, fault=fault):
                self._lost(one, f"{fault}: {cause}", now)

    def _applied(self, one: Evaluator, version: int, digest: str, now: float) -> None:
        if not self.state.applied(one, version, digest):
            cause = f"{Fault.WEIGHTS}: the loaded version {version} has another digest than the published version"
            self._lost(one, cause, now)

    def _raised(self, one: Evaluator, raised: Raised, now: float) -> None:
        if raised.by_environment and self._restarts_environments:
            self._lost(one, f"{Fault.ENVIRONMENT}: {raised.cause}", now)
            return
        where = f"{raised.where} of the evaluation (evaluator {one.name})"
        with self._shared.changed:
            self._shared.abort(UserCodeError(where, raised.cause, raised.traceback))

    def _lost(self, one: Evaluator, cause: str, now: float) -> None:
        log.warning("evaluator %s is restarted: %s", one.name, cause)
        if one.id is not None:
            self._outbox.stop(one.id)
        self.state.lost(one, cause, now)

    def _check(self, now: float) -> None:
        for one in self.state.too_long_recording(now):
            seconds = self.state.plan.recorded_timeout_seconds
            self._lost(one, f"the recorded evaluation has not ended within {seconds:g} s", now)
        self._warn_of_videos()
        seconds = self.state.plan.build_seconds
        for one in self.state.evaluators.too_long_building(now, seconds):
            self._lost(one, f"{Fault.HUNG}: not built within {seconds:.0f} s (first_request_timeout)", now)
        playing = [one for one in self.state.evaluators.places if one.playing is not None]
        failure = self.state.drop_if_timed_out(now)
        if failure is not None:
            log.warning("evaluation failed: %s", failure)
            for one in playing:
                self._lost(one, f"{Fault.HUNG}: {failure}", now)
            self.state.last_failure = failure
        elif (failure := self.state.drop_if_not_finite()) is not None:
            log.warning("evaluation failed: %s", failure)

    def _warn_of_videos(self) -> None:
        failure = self.state.videos.failure
        if failure is not None and not self._has_warned_of_videos:
            self._has_warned_of_videos = True
            log.warning("evaluation.video: %s; evaluation and training continue without this video", failure)
