"""The state of a gather: its plan, its open requests, and the next actions. It reads no clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from collectorfleet.gather.state.admissions import Admission, Admissions, Batch, Share
from collectorfleet.gather.state.collectors import Collector, Collectors
from collectorfleet.gather.state.plan import DEPTH, Plan
from collectorfleet.messages import Answer, Request
from collectorfleet.recent import LargestOfRecent

# The size of a future share is estimated by the largest of this many recent shares.
_SHARES = 1000


class Gather:
    """The state of a gather. Methods named after events change the state, and the others only read it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.collectors = Collectors()
        self.admissions = Admissions(plan.admissions_per_batch, plan.bound)
        self.version = 0
        # The newest version of an earlier gather. Collectors without a newer version count as having it.
        self._made_before = 0
        self.is_batch_wanted = False  # the consumer waits for a batch, until it takes one
        self.chosen: list[Admission] | None = None  # the batch that is ready for the consumer
        self.paused = False
        self.begun = False  # a batch was requested; the gather collects nothing before
        self._ended = False
        self._idle_for_the_bound = False
        self.frames_handed_out = 0
        self._random_frames = 0
        self._share_bytes = LargestOfRecent(_SHARES)
        self._requests: dict[int, Share] = {}
        self._next_request = 0

    def restored(self, frames: int, version: int) -> None:
        """Continue the counts of an earlier gather, whose first frames were the random frames."""
        self.frames_handed_out = self._random_frames = frames
        self.version = self._made_before = max(self.version, version)

    def end(self) -> None:
        """End the gather because the run has reached its goal. No further requests are sent."""
        self._ended = True

    @property
    def finished(self) -> bool:
        """Whether all requested frames were handed out, or the run has reached its goal earlier."""
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
        """Return whether the version may advance, so that all open requests stay within the bound or are discarded."""
        is_left_over = self._ended and self.chosen is None
        return is_left_over or self.admissions.window.in_time(self.version + 1)

    @property
    def throttled(self) -> bool:
        """Whether the bound delays a requested batch, or leaves collectors idle.

        Read this after requests were sent and a due batch was chosen.
        """
        held_back = self.is_batch_wanted and self.chosen is None and self.admissions.completed > 0
        return self._idle_for_the_bound or held_back

    # ---------------------------------------------------------------- requests
    def submissions(self, now: float) -> Iterator[tuple[Collector, Request]]:
        """Return every request that may be sent now, and note them as sent. Idle collectors are first."""
        self._idle_for_the_bound = False
        line = self.admissions.line
        while self.begun and not self.paused and (line or self._admit()):
            share = line[0]
            one = self._who_takes(share, now)
            if one is None:
                return
            line.popleft()
            yield one, self._request(share, one, now)

    def _who_takes(self, share: Share, now: float) -> Collector | None:
        one = self.collectors.next_free(share.admission.number)
        if one is not None and one.id in share.admission.holders and self.collectors.is_collector_starting(now):
            return None
        return one

    def _request(self, share: Share, one: Collector, now: float) -> Request:
        wanted = share.admission.version if self.plan.exact else self.version
        # This gather has not published older versions, so a collector cannot wait for them.
        least = wanted if wanted > self._made_before else 0
        exactly = least if self.plan.exact and least else None
        request = Request(self._next_request, share.frames, least, exactly, share.random)
        self._next_request += 1
        self._requests[request.id] = share
        self.admissions.submitted(share, request.id, one.id, one.slot)
        self.collectors.note_request(one, request.id, share.admission.number, now)
        return request

    def _admit(self) -> bool:
        """Admit one more batch or share if every bound allows it."""
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
        # A chosen batch counts as handed out, so that collectors continue before the consumer takes it.
        if self._ended:
            return False
        plan, count = self.plan, len(self.admissions) - len(self.chosen or ())
        # A partly admitted batch is always filled, or the last batch would never be complete.
        if plan.total_frames is not None and not count % plan.admissions_per_batch and self._all_is_requested:
            return False
        # Every collector may have one running and one waiting request, even if finished shares are not taken.
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
            # The collector used the weights that it was built with. They count as the restored version.
            answer = replace(answer, version=self._made_before)
        self._share_bytes.note(answer.size_bytes)
        self.admissions.answered(share, answer)
        self.collectors.answered(one, answer.request_id, now)

    def answer_lost(self, one: Collector, request_id: int, now: float) -> None:
        """Record that a finished rollout cannot be read. Its share is requested again."""
        self.admissions.taken_back(self._requests.pop(request_id))
        self.collectors.answered(one, request_id, now, readable=False)

    def retired(self, one: Collector) -> int:
        """Remove a collector, and put its requests back at the front of the queue. Return the number of requests."""
        self.collectors.retired(one)
        for request_id in reversed(one.in_flight):
            self.admissions.taken_back(self._requests.pop(request_id))
        return len(one.in_flight)

    def stragglers(self) -> Iterator[tuple[Collector, int]]:
        """Return the requests to cut short now, each of them once."""
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
        """Choose the batch that the consumer waits for. Return whether a batch was chosen.

        The version does not advance beyond the bound until the consumer takes the batch. An interrupted consumer may
        publish before it takes the batch.
        """
        if not self.is_batch_wanted or self.chosen is not None:
            return False
        self.chosen = self.due()
        return self.chosen is not None

    def due(self) -> list[Admission] | None:
        """Return the admissions of the batch to hand out now; None if no batch is ready."""
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
        """Return whether shares older than the chosen ones are still open at the end of the run.

        The gather waits for them, so that the last batch has the newest shares.
        """
        first = self.admissions.first_incomplete
        return first is not None and first.version < chosen[-1].version_for_bound

    def hand_out(self, chosen: list[Admission]) -> Batch:
        """Record that the consumer has taken the chosen batch, and return the batch."""
        batch = self.admissions.hand_out(chosen, self.version)
        self.frames_handed_out += batch.frames
        self.is_batch_wanted, self.chosen = False, None
        return batch
