"""The state of a gather: its plan, its open requests and the next actions. No clock: callers pass the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from collectorfleet.gather.state.admissions import Admission, Admissions, Batch, Share
from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.collectors import Collectors
from collectorfleet.gather.state.plan import DEPTH, Plan
from collectorfleet.messages import Answer, Request
from collectorfleet.recent import LargestOfRecent

# The estimated size of a future share is the largest size among this number of recent shares.
_SHARES = 1000


class Gather:
    """The state of a gather. Methods named after events change the state. The other methods only read the state."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.collectors = Collectors()
        self.admissions = Admissions(plan.admissions_per_batch, plan.bound)
        self.version = 0
        # The newest version of the earlier gather that this gather continues. If a collector has no newer version, it
        # counts as having this version.
        self._made_before = 0
        self.is_batch_wanted = False  # whether the consumer waits for a batch
        self.chosen: list[Admission] | None = None  # the batch that is ready for the consumer
        self.paused = False
        self.begun = False  # whether a batch was requested; collection starts then
        self._ended = False
        self._idle_for_the_bound = False
        self.frames_handed_out = 0
        self._random_frames = 0
        self._share_bytes = LargestOfRecent(_SHARES)
        self._requests: dict[int, Share] = {}
        self._next_request = 0

    def restored(self, frames: int, version: int) -> None:
        """Continue the counts of an earlier gather.

        Random frames come first in a run. So the frames of the earlier gather count towards their number.
        """
        self.frames_handed_out = self._random_frames = frames
        self.version = self._made_before = max(self.version, version)

    def end(self) -> None:
        """End the gather because the run has reached its goal. No further requests are sent."""
        self._ended = True

    @property
    def finished(self) -> bool:
        """Whether all requested frames were handed out, or the run has already reached its goal."""
        return self._ended or self._has_all_frames

    @property
    def _has_all_frames(self) -> bool:
        return self.plan.total_frames is not None and self.frames_handed_out >= self.plan.total_frames

    @property
    def oldest_needed(self) -> int:
        """The oldest version that a request may still need."""
        first = self.admissions.first_incomplete if self.plan.exact else None
        return self.version if first is None else first.version

    def may_advance(self) -> bool:
        """Return whether a new version may be published.

        The version may be published if all open requests then stay within the staleness bound.
        """
        is_left_over = self._ended and self.chosen is None
        return is_left_over or self.admissions.window.in_time(self.version + 1)

    @property
    def throttled(self) -> bool:
        """Whether the staleness bound delays a requested batch, or is the reason why collectors are idle.

        Read this only after :meth:`submissions` and :meth:`choose`.
        """
        held_back = self.is_batch_wanted and self.chosen is None and self.admissions.completed > 0
        return self._idle_for_the_bound or held_back

    # ---------------------------------------------------------------- requests
    def submissions(self, now: float) -> Iterator[tuple[Collector, Request]]:
        """Yield all requests that may be sent now, and record each as sent. Idle collectors get requests first."""
        self._idle_for_the_bound = False
        line = self.admissions.line
        while self.begun and not self.paused and (line or self._admit()):
            share = line[0]
            one = self._choose_collector(share, now)
            if one is None:
                return
            line.popleft()
            yield one, self._request(share, one, now)

    def _choose_collector(self, share: Share, now: float) -> Collector | None:
        one = self.collectors.next_free(share.admission.number)
        if one is not None and one.id in share.admission.holders and self.collectors.is_collector_starting(now):
            return None
        return one

    def _request(self, share: Share, one: Collector, now: float) -> Request:
        wanted = share.admission.version if self.plan.exact else self.version
        # This gather has not published the versions of an earlier gather. So a collector must not wait for them.
        least = wanted if wanted > self._made_before else 0
        exactly = least if self.plan.exact and least else None
        request = Request(self._next_request, share.frames, least, exactly, share.random)
        self._next_request += 1
        self._requests[request.id] = share
        self.admissions.submitted(share, request.id, one.id, one.slot)
        self.collectors.note_request(one, request.id, share.admission.number, now)
        return request

    def _admit(self) -> bool:
        """Admit one more batch or share if all bounds and totals allow this. Return whether they allow this."""
        if not self.admissions.window.in_time(self.version + (not self.is_batch_wanted), also=self.version):
            self._idle_for_the_bound = self.collectors.busy < self.collectors.available and self._is_wanted()
            return False
        if self.collectors.next_free(self.admissions.next_number) is None or not self._is_wanted():
            return False
        if len(self.admissions) and not self._fits_the_store():
            return False
        random = [self._next_is_random() for _ in range(self.plan.shares_per_admission)]
        self.admissions.admit(self.version, self.plan.frames_per_share, random)
        return True

    def _is_wanted(self) -> bool:
        # A chosen batch counts as handed out. So collectors continue before the consumer has taken the batch.
        if self._ended:
            return False
        plan, count = self.plan, len(self.admissions) - len(self.chosen or ())
        # If some shares of a batch are admitted, the others are admitted, too. Otherwise the last batch would never be
        # complete.
        if plan.total_frames is not None and not count % plan.admissions_per_batch and self._all_is_requested:
            return False
        # Every collector may have one running and one waiting request, even if the consumer does not take finished
        # shares.
        return plan.in_order or count < max(DEPTH * self.collectors.available, plan.shares)

    @property
    def _all_is_requested(self) -> bool:
        total = self.plan.total_frames
        return total is not None and self.frames_handed_out + self.admissions.frames >= total

    def _fits_the_store(self) -> bool:
        plan, window = self.plan, self.admissions
        if plan.store_bytes is None or len(window) < plan.admissions_per_batch:
            return True
        to_come = window.shares_missing + plan.shares_per_admission
        return window.waiting_bytes + to_come * self._share_bytes.value <= plan.store_bytes

    def _next_is_random(self) -> bool:
        random = self._random_frames < self.plan.random_frames
        self._random_frames += self.plan.frames_per_share if random else 0
        return random

    # ---------------------------------------------------------------- answers
    def answered(self, one: Collector, answer: Answer, now: float) -> None:
        share = self._requests.pop(answer.request_id)
        if answer.version < self._made_before:
            # The collector used the weights that it was built with. These weights count as the newest version of the
            # earlier gather.
            answer = replace(answer, version=self._made_before)
        self._share_bytes.note(answer.size_bytes)
        self.admissions.answered(share, answer)
        self.collectors.answered(one, answer.request_id, now)

    def answer_lost(self, one: Collector, request_id: int, now: float) -> None:
        """Record that the answer to a request cannot be read. The share of this request will be requested again."""
        self.admissions.taken_back(self._requests.pop(request_id))
        self.collectors.answered(one, request_id, now, readable=False)

    def retired(self, one: Collector) -> int:
        """Remove a collector. Put its shares back at the front of the queue, and return the number of these shares."""
        self.collectors.retired(one)
        for request_id in reversed(one.in_flight):
            self.admissions.taken_back(self._requests.pop(request_id))
        return len(one.in_flight)

    def stragglers(self) -> Iterator[tuple[Collector, int]]:
        """Yield the requests to cut short now. Each request is yielded only once."""
        after = self.plan.cut_short_after
        if after is None:
            return
        first = self.admissions.first
        if first is None or not first.has_new_requests or len(first.shares) - first.missing < after:
            return
        first.has_new_requests = False
        for share in first.shares:
            one = self.collectors.find(share.holder) if share.holder and share.request_id is not None else None
            if one is not None and share.request_id is not None and not share.done and not share.cut_short:
                share.cut_short = True
                yield one, share.request_id

    # ---------------------------------------------------------------- batches
    def choose(self) -> bool:
        """Choose the batch for the waiting consumer. Return whether a batch was chosen.

        Until the consumer takes the chosen batch, the batch counts for the staleness bound, because an interrupted
        consumer may publish before it takes the batch.
        """
        if not self.is_batch_wanted or self.chosen is not None:
            return False
        self.chosen = self.due()
        return self.chosen is not None

    def due(self) -> list[Admission] | None:
        """Return the admissions of the batch that can be handed out now, or None if no batch is ready."""
        if self.plan.in_order:
            first = self.admissions.first
            return [first] if first is not None and first.complete else None
        if self.admissions.completed < self.plan.shares:
            return None
        oldest = self.admissions.oldest_complete(self.plan.shares)
        if not self.admissions.window.in_time(self.version + 1, without=[one.version_for_bound for one in oldest]):
            return None
        return None if self._all_is_requested and self._older_ones_to_come(oldest) else oldest

    def _older_ones_to_come(self, chosen: list[Admission]) -> bool:
        """Return whether open shares are older than the chosen shares. The gather calls this only at the end of a run.

        The gather waits for these older shares. So they are handed out first, and the last batch has the newest shares.
        """
        first = self.admissions.first_incomplete
        return first is not None and first.version < chosen[-1].version_for_bound

    def hand_out(self, chosen: list[Admission]) -> Batch:
        """Record that the consumer takes the chosen batch. Return the batch."""
        batch = self.admissions.hand_out(chosen, self.version)
        self.frames_handed_out += batch.frames
        self.is_batch_wanted, self.chosen = False, None
        return batch
