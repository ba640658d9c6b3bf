"""Handle lost collectors with the failure policy. End the run if too few collectors are left. Also check deadlines."""

from __future__ import annotations

import logging
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Final

from collectorfleet.errors import InfrastructureError, TooFewCollectors, UserCodeError
from collectorfleet.gather.outbox import Outbox
from collectorfleet.gather.shared import Shared
from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.shortage import Shortage
from collectorfleet.messages import Fault, Raised
from collectorfleet.recovery.deadline import LearnedDeadline
from collectorfleet.recovery.failure import Decision, Fail, FailurePolicy, GiveUp, Loss, Replace
from collectorfleet_api.v1alpha1 import CollectorState, WeightsFailure

log = logging.getLogger("collectorfleet")

# If no collector is available, the run ends after at least this number of failed loads in a row. Further restarts would
# fail, too.
_TRIES_TO_PROVE: Final = 3


class Losses:
    """Handles losses of collectors, for the gather thread. The caller holds the lock.

    ``now`` is a time of the gather thread's AwakeClock, in seconds.
    """

    def __init__(self, shared: Shared, outbox: Outbox, policy: FailurePolicy, now: float) -> None:
        self._shared = shared
        self._outbox = outbox
        self._policy = policy
        limits = shared.limits
        # Each group has its own deadlines, because the environments of one group may be ten times slower than the
        # environments of another group.
        self._deadlines: defaultdict[str | None, LearnedDeadline] = defaultdict(
            lambda: LearnedDeadline(limits.request.total_seconds(), limits.first_request.total_seconds())
        )
        self._shortage = Shortage(now, limits.min_available)
        self._environments_error: UserCodeError | None = None

    # ---------------------------------------------------------------- losses
    def lost(self, one: Collector, cause: str, fault: Fault, now: float) -> None:
        """Retire a lost collector.

        Other collectors get the requests of the lost collector. The failure policy decides about a replacement.
        """
        self._apply_failure_policy(one, cause, fault, InfrastructureError(f"collector {one.id.name}: {cause}"), now)

    def raised(self, one: Collector, raised: Raised, now: float) -> None:
        """Handle an error of the user's code.

        If the environment raised the error, the failure policy decides what happens. Any other error ends the run.
        """
        error = UserCodeError(f"{raised.where} (collector {one.id.name})", raised.cause, raised.traceback)
        if not raised.by_environment:
            self._shared.slots.by_name[one.id.name].last_error = raised.cause
            self._shared.abort(error)
            return
        self._environments_error = error
        self._apply_failure_policy(one, raised.cause, Fault.ENVIRONMENT, error, now)

    def weights_failed(self, one: Collector, version: int, cause: str, now: float) -> None:
        """Handle a collector that could not load a version. After too many failures in a row, end the run."""
        failure = WeightsFailure(
            collector=one.id.name, version=version, time=datetime.now(UTC), reason=Fault.WEIGHTS, message=cause
        )
        others = self._shared.gather.collectors.available - (one.state is CollectorState.READY)
        versions = self._shared.versions
        versions.failed(failure, has_no_other_available=not others)
        self.lost(one, cause, Fault.WEIGHTS, now)
        # Every collector may try once. When a large fleet starts, the first failures come before most collectors have
        # tried.
        if versions.failures_in_a_row >= max(_TRIES_TO_PROVE, self._shared.slots.expected_count):
            self._shared.abort(
                InfrastructureError(
                    f"weights: no collector loaded version {version} with the published digest in "
                    f"{versions.failures_in_a_row} tries. The last failure, of {one.id.name}: {cause}; look for code "
                    "that changes the policy's tensors when they are loaded"
                )
            )

    def retire(self, one: Collector) -> None:
        """Stop the collector, and put its requests back into the queue for other collectors."""
        resent = self._shared.gather.retired(one)
        # This may have been the only collector that had not acknowledged the newest version.
        self._shared.versions.acknowledged(self._shared.gather.collectors.acknowledged)
        if resent:
            log.info("%s: %d requests are sent to other collectors", one.id.name, resent)
        self._outbox.stop(one.id)
        self._shared.note_change(urgent=True)

    def _apply_failure_policy(self, one: Collector, cause: str, fault: Fault, error: Exception, now: float) -> None:
        shared = self._shared
        self.retire(one)
        try:
            loss = shared.slots.lost(one.id.name, cause, fault, now, node=one.node)
            decision = _decide(self._policy, loss)
        except BaseException as raised:  # noqa: BLE001  (the user's policy may raise anything, and call sys.exit)
            shared.abort(UserCodeError.of("failure_policy", raised))
            return
        if isinstance(decision, Fail):
            shared.abort(error)
            return
        shared.slots.decided(one.id.name, decision, now)
        available, desired = shared.gather.collectors.available, shared.slots.desired
        traceback = f"\n{error.traceback}" if isinstance(error, UserCodeError) else ""
        log.warning(
            "%s retired (%s): %s; %d of %d available%s",
            *(one.id.name, loss.fault, decision.reason, available, desired, traceback),
        )

    # ---------------------------------------------------------------- time
    def note_duration(self, one: Collector, seconds: float) -> None:
        """Record that the collector worked on a request for this number of seconds."""
        self._deadlines[one.group].note_duration(seconds)

    def check(self, now: float) -> None:
        """Stop counting losses on dead nodes, and handle missed deadlines.

        End the run if too few collectors are left.
        """
        while self._shared.died_nodes:
            self._node_died(self._shared.died_nodes.pop(), now)
        self._check_deadlines(now)
        shared, limits = self._shared, self._shared.limits
        available = shared.gather.collectors.available
        verdict = self._shortage.verdict(available, shared.slots, limits.min_available, limits.available, now)
        if verdict is None:
            return
        last = self._environments_error
        if last is not None and shared.slots.last_fault is Fault.ENVIRONMENT:
            # A UserCodeError prevents a retry with a new driver. A retry would not help, because the environment caused
            # the losses.
            shared.abort(UserCodeError(f"{verdict}; {last.where}", last.cause, last.traceback))
        else:
            first = shared.slots.first_cause
            shared.abort(TooFewCollectors(f"{verdict}; first cause, {first}" if first else verdict))

    def _node_died(self, node: str, now: float) -> None:
        for slot in self._shared.slots.node_died(node, now):
            log.info("%s was lost with its node; this does not count as a restart", slot.name)
            self._shared.note_change()

    def _check_deadlines(self, now: float) -> None:
        collectors, allowed = self._shared.gather.collectors, self._shared.limits.first_request.total_seconds()
        while (one := collectors.longest_building()) is not None:
            if one.building_since is None or now - one.building_since <= allowed:
                break
            what = "not built" if one.state is CollectorState.STARTING else "built, but did not load its first weights"
            self.lost(one, f"{what} within {allowed:.0f} s (first_request_timeout)", Fault.HUNG, now)
        for group in collectors.groups:
            for first in (True, False):
                allowed = self._deadlines[group].allowed(first=first)
                while (one := collectors.longest_at_work(group, first=first)) is not None:
                    if one.working_since is None or now - one.working_since <= allowed:
                        break
                    self.lost(one, f"no batch within {allowed:.0f} s", Fault.HUNG, now)


def _decide(policy: FailurePolicy, loss: Loss) -> Decision:
    decision = policy.decide(loss)
    if not isinstance(decision, Replace | GiveUp | Fail):
        raise TypeError(f"decide() returned {decision!r}; return Replace, GiveUp or Fail")
    if isinstance(decision, Replace) and not isinstance(decision.after, timedelta):
        raise TypeError(f"decide() returned {decision!r}; give Replace a timedelta")
    return decision
