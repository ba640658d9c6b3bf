"""The state of a fleet's evaluation: the waiting version, the running evaluation, and the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from math import isfinite
from typing import Any

from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.evaluation.state.episodes import EpisodeList, seed_of
from collectorfleet.evaluation.state.evaluators import Evaluator, Evaluators
from collectorfleet.evaluation.state.schedule import Interval
from collectorfleet.evaluation.state.videos import RENDERING_SHARE, Recording, VideoPlan, Videos
from collectorfleet.messages import Answer, CollectorId, Request, Weights, digest_of


@dataclass(frozen=True)
class EvaluationPlan:
    """The settings of the evaluation.

    Args:
        replicas: the number of evaluators.
        interval: the interval between two evaluations.
        episodes: the number of episodes of one evaluation.
        seeds: the seeds of the episodes, see :func:`seed_of`.
        timeout_seconds: the time limit of one evaluation without a recording.
        build_seconds: the time limit for an evaluator to build environment and policy. The time begins when the
            evaluator's process runs.
        stop_at_return: the mean return that ends the run. None: no mean return ends the run.
        measure: a description of the evaluated environment and of the settings. Results are compared only if their
            measures are equal.
        video: which episodes are recorded. None: no episodes are recorded.
    """

    replicas: int
    interval: Interval
    episodes: int
    seeds: Sequence[int]
    timeout_seconds: float
    build_seconds: float
    stop_at_return: float | None = None
    measure: str = ""
    video: VideoPlan | None = None

    @property
    def recorded_timeout_seconds(self) -> float:
        """The time limit of an evaluation with a recording."""
        return self.timeout_seconds * (1 + RENDERING_SHARE)


@dataclass(frozen=True)
class Candidate:
    """A version to evaluate, and the number of frames that were handed out before this version was published."""

    weights: Weights
    frames: int

    @property
    def version(self) -> int:
        return self.weights.version


@dataclass
class Running:
    """The running evaluation. ``began`` and ``deadline`` are times of the loop's clock, in seconds."""

    candidate: Candidate
    episodes: EpisodeList
    began: float
    deadline: float
    recording: Recording | None = None
    numbers: dict[int, int] = field(default_factory=dict)  # the number of the rollout, by request id


@dataclass(frozen=True)
class Play:
    """A request to an evaluator to run a rollout. ``weights`` is None if the evaluator got them before."""

    evaluator: CollectorId
    request: Request
    weights: Weights | None


class EvaluationState:
    """The state of the evaluation. Methods named after events change the state.

    ``now`` is the time of a monotonic clock in seconds.
    """

    def __init__(self, plan: EvaluationPlan, now: float) -> None:
        self.plan = plan
        self.evaluators = Evaluators(plan.replicas, now)
        self.videos = Videos(plan.video)
        self.pending: Candidate | None = None
        self.running: Running | None = None
        self.newest: EvaluationResult | None = None
        self.best: EvaluationResult | None = None
        self.finished = 0
        self.failed = 0
        self.skipped = 0
        self.reached = False
        self.last_failure: str | None = None
        self._failed_version: int | None = None
        self._last_version: int | None = None  # None: the run has not ended
        self._next_request = 0

    # ---------------------------------------------------------------- versions
    def due(self, candidate: Candidate) -> None:
        """Record that this version is due.

        If an earlier version still waits, this version replaces it. The earlier version counts as skipped.
        """
        self.skipped += self.pending is not None
        self.pending = candidate
        if self._last_version is not None and candidate.version > self._last_version:
            self._last_version = None  # a training function may continue after `finish_evaluation`

    def run_ended(self, last: Candidate) -> None:
        """Make the last version of the run due, even if the interval has not passed.

        Do nothing if an evaluation of this version is running, or has finished or failed.
        """
        self._last_version = last.version
        under_way = self.running.candidate.version if self.running else None
        evaluated = self.newest.version if self.newest else None
        if last.version in (under_way, evaluated, self._failed_version):
            return
        if self.pending is None or self.pending.version < last.version:
            self.due(last)

    @property
    def idle(self) -> bool:
        """Whether no version waits for its evaluation, and no evaluation runs."""
        return self.pending is None and self.running is None

    @property
    def awaited_version(self) -> int | None:
        """The last version of the run until its evaluation has ended. None at any other time."""
        return None if self.idle else self._last_version

    # ---------------------------------------------------------------- episodes
    def plays(self, now: float) -> Iterator[Play]:
        """Yield the next rollout for each idle evaluator, and record these rollouts as sent."""
        for id_, one in self.evaluators.idle():
            if self.running is None:
                if self.pending is None:
                    return
                recording = self.videos.begin(self.finished + self.failed, last=self._last_version is not None)
                seconds = self.plan.recorded_timeout_seconds if recording else self.plan.timeout_seconds
                self.running = Running(self.pending, EpisodeList(self.plan.episodes), now, now + seconds, recording)
                self.pending = None
            number = self.running.episodes.take()
            if number is None:
                return
            yield self._play(id_, one, self.running, number, now)

    def _play(self, id_: CollectorId, one: Evaluator, running: Running, number: int, now: float) -> Play:
        weights = running.candidate.weights
        recorded = running.recording.wants(number, running.episodes.per_rollout) if running.recording else 0
        seed = seed_of(number, self.plan.seeds)
        request = Request(self._next_request, 0, weights.version, weights.version, seed=seed, recorded=recorded)
        self._next_request += 1
        one.is_recording = recorded > 0
        if running.recording is not None and running.recording.take_repetition(number):
            # The renderer caused the delay before the evaluator was lost. So the repeated rollout gets the full timeout
            # again, but only once: later losses have other causes.
            running.deadline = now + self.plan.timeout_seconds
        running.numbers[request.id] = number
        one.playing = request.id
        along = None if one.sent == weights.version else weights
        one.sent, one.proof = weights.version, weights.proof
        return Play(id_, request, along)

    def answered(self, one: Evaluator, answer: Answer) -> None:
        """Record a finished rollout. It counts only after the digest of the evaluator's weights has been verified."""
        if one.playing == answer.request_id:
            one.playing, one.is_recording = None, False
        self.evaluators.worked(one)
        one.unproven.append(answer)
        self._count_proven(one)

    def applied(self, one: Evaluator, version: int, digest: str) -> bool:
        """Record that an evaluator has loaded ``version``.

        Return False if ``digest`` differs from the version's digest. Blocks until the digest of the published version
        is computed.
        """
        if one.sent != version:
            return True  # another version was sent in the meantime; rollouts with this version no longer count
        if digest_of(one.proof) != digest:
            return False
        one.loaded = version
        self._count_proven(one)
        return True

    def _count_proven(self, one: Evaluator) -> None:
        proven = [answer for answer in one.unproven if answer.version == one.loaded]
        one.unproven = [answer for answer in one.unproven if answer.version != one.loaded]
        for answer in proven:
            running = self.running
            if running is None or answer.request_id not in running.numbers:
                continue  # the rollout belongs to an evaluation that timed out
            number = running.numbers.pop(answer.request_id)
            if answer.episodes is not None:
                running.episodes.ended(number, answer.episodes)
            if answer.recorded is not None and running.recording is not None:
                self.videos.recorded(running.recording, number, answer.recorded)

    def lost(self, one: Evaluator, cause: str, now: float) -> None:
        """Record the loss of an evaluator.

        Other evaluators, or the restarted evaluator, repeat the unfinished rollouts of the lost evaluator.
        """
        self.last_failure = f"evaluator {one.name}: {cause}"
        if self.running is not None:
            self._lost_recording(one, self.running, cause, now)
            requests = [one.playing, *(answer.request_id for answer in one.unproven)]
            for request in requests:
                if request in self.running.numbers:
                    self.running.episodes.lost(self.running.numbers.pop(request))
        self.evaluators.lost(one, now)

    def _lost_recording(self, one: Evaluator, running: Running, cause: str, now: float) -> None:
        if not one.is_recording or running.recording is None or one.playing not in running.numbers:
            return
        self.videos.lost(running.recording, running.numbers[one.playing], f"evaluator {one.name}: {cause}")
        # The rollout is repeated, possibly after an evaluator has been built again. So the deadline includes the time
        # to build.
        running.deadline = now + self.plan.build_seconds + self.plan.timeout_seconds

    def too_long_recording(self, now: float) -> list[Evaluator]:
        """Return the evaluators that still record a rollout after the deadline. Their renderers may hang.

        The caller should treat these evaluators as lost. The evaluation then continues without a video.
        """
        running = self.running
        if running is None or now <= running.deadline:
            return []
        return [one for one in self.evaluators.places if one.is_recording and one.playing in running.numbers]

    # ---------------------------------------------------------------- ends
    def result(self, now: float, time: datetime) -> EvaluationResult | None:
        """If all episodes have ended, end the evaluation, and record and return its result. Otherwise return None."""
        running = self.running
        if running is None or not running.episodes.finished:
            return None
        self.running = None
        found = EvaluationResult.of(
            running.candidate.version,
            running.candidate.frames,
            running.episodes.in_order(),
            self.plan.episodes,
            now - running.began,
            time,
        )
        if running.recording is not None:
            per_rollout = running.episodes.per_rollout or 1
            self.videos.finished(running.recording.videos(found, self.plan.seeds, per_rollout))
        self.newest = found
        self.finished += 1
        if self.best is None or found.mean > self.best.mean:
            self.best = found
        self.reached |= self._has_reached(found)
        return found

    def drop_if_timed_out(self, now: float) -> str | None:
        """If the running evaluation has timed out, drop it and return the reason. Otherwise return None."""
        running = self.running
        if running is None or now <= running.deadline:
            return None
        return self._has_failed(
            running,
            f"{running.episodes.count} of {self.plan.episodes} episodes ended within {self.plan.timeout_seconds:g} s; "
            "play fewer episodes, limit their length, or allow more time",
        )

    def drop_if_not_finite(self) -> str | None:
        """If an episode's return in the finished evaluation is not finite, drop the evaluation and return the reason.

        Otherwise return None.
        """
        running = self.running
        if running is None or not running.episodes.finished:
            return None
        returns = [value for one in running.episodes.in_order() for value in one.returns][: self.plan.episodes]
        bad = next(((number, value) for number, value in enumerate(returns) if not isfinite(value)), None)
        if bad is None:
            return None
        return self._has_failed(
            running, f"the return of episode {bad[0]} is {bad[1]}; look for rewards that are not finite"
        )

    def _has_failed(self, running: Running, why: str) -> str:
        self.running = None
        self.failed += 1
        self._failed_version = running.candidate.version
        self.last_failure = f"version {running.candidate.version}: {why}"
        return self.last_failure

    def why_evaluators_unavailable(self, now: float) -> str | None:
        """If all evaluators have been unavailable for too long, return a sentence about this. Otherwise return None."""
        since = self.evaluators.unavailable_since
        if self.idle or since is None or now - since <= self.plan.build_seconds:
            return None
        cause = f"; {self.last_failure}" if self.last_failure else ""
        return (
            f"the last version was not evaluated: none of {self.plan.replicas} evaluators has been available for "
            f"{now - since:.0f} s{cause}"
        )

    # ---------------------------------------------------------------- state for a later run
    def kept(self) -> dict[str, Any]:
        """Return the counts, the newest result and the best result as plain values."""
        return {
            "finished": self.finished,
            "failed": self.failed,
            "skipped": self.skipped,
            "newest": None if self.newest is None else asdict(self.newest),
            "best": None if self.best is None else asdict(self.best),
            "measure": self.plan.measure,
        }

    def restored(self, kept: Mapping[str, Any]) -> None:
        """Continue the counts of an earlier run.

        If the measures are equal, also continue from the results of that run.
        """
        self.finished, self.failed, self.skipped = kept["finished"], kept["failed"], kept["skipped"]
        if kept["measure"] != self.plan.measure:
            return  # the earlier results are about other environments or settings
        self.newest = None if kept["newest"] is None else EvaluationResult(**kept["newest"])
        self.best = None if kept["best"] is None else EvaluationResult(**kept["best"])
        self.reached = self._has_reached(self.best)

    def _has_reached(self, result: EvaluationResult | None) -> bool:
        goal = self.plan.stop_at_return
        return goal is not None and result is not None and result.mean >= goal
