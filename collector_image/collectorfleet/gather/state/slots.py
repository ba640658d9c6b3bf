"""The slots of a fleet: which slots exist, and the history of each slot.

A slot is a numbered position in the fleet: ``c0``, ``c1``, ... The collector in a slot may be replaced. If a fleet is
scaled down, the counts of removed slots are removed, too. If the fleet is scaled up later, the counts of added slots
begin at zero.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from collectorfleet.messages import Fault
from collectorfleet.recovery.failure import GiveUp, Loss, Replace
from collectorfleet.scaling import Placed, ScalingPolicy, chosen
from collectorfleet_api.packing.groups import counted

_AT_ONCE = float("-inf")
# A collector that has delivered a batch and has run for this time counts as healthy. Earlier restarts of its slot then
# no longer count. The kubelet uses the same rule for containers.
HEALED_AFTER_SECONDS = 600.0
# A loss up to this long before the report of a dead node may still be due to the node. Ray reports the death of a node
# later than the loss of the node's processes. Ray first waits for the configured number of failed health checks, up to
# a minute. In addition, the node watch notices the death when it polls Ray again.
_NODE_FOUND_DEAD_SECONDS = 120.0
_KEPT_NODES = 256


@dataclass(frozen=True, slots=True)
class Charge:
    """A restart that counts against the limit of restarts."""

    at: float
    node: str | None  # the node of the lost collector


@dataclass(eq=False, slots=True)
class Slot:
    name: str
    index: int
    group: str | None = None
    leaving: bool = False
    vacant: bool = True
    refill_at: float | None = _AT_ONCE  # when to fill a vacant slot; None: never
    waits_for: str | None = None  # a drained pod: while it exists, the slot stays vacant
    restarts: int = 0
    charges: list[Charge] = field(default_factory=list)  # restarts since the slot was last healthy
    filled_at: float = 0.0  # when its present collector started
    batches_before: int = 0  # the batches of its earlier collectors
    last_error: str | None = None
    batches: int = 0
    frames: int = 0

    @property
    def lost(self) -> bool:
        """Whether the collector of the slot was lost and has not been replaced yet."""
        return self.vacant and self.refill_at != _AT_ONCE

    @property
    def given_up(self) -> bool:
        return self.vacant and self.refill_at is None


class Slots:
    """All slots by name. The groups of the slots repeat ``groups`` in order.

    So the group of a slot does not depend on the number of slots.

    If ``groups`` is empty, slots have no group.
    """

    def __init__(self, collectors: int, groups: Sequence[str] = ()) -> None:
        self._turns = groups
        self.by_name: dict[str, Slot] = {}
        self.leaving: dict[str, Slot] = {}
        self.waiting: dict[str, Slot] = {}  # slots that wait until a drained pod is gone
        self.desired = 0
        self.restarts = 0  # including restarts in removed slots
        self.first_cause: str | None = None
        self.last_fault: Fault | None = None
        # A heap, ordered by the time to fill the slot. The turn orders entries with the same time, such as a removed
        # slot and a new slot with the same index.
        self._vacant: list[tuple[float, int, int, Slot]] = []
        self._turn = itertools.count()
        self._given_up: dict[str, Slot] = {}  # slots that are given up
        self._dead_nodes: deque[str] = deque(maxlen=_KEPT_NODES)
        for group, count in self.sizes(collectors).items():
            self._grow(count, group)
        self.desired = collectors

    @property
    def groups(self) -> list[str]:
        """The distinct names of the groups."""
        return list(dict.fromkeys(self._turns))

    def group_of(self, index: int) -> str | None:
        """Return the group of the slot with this index."""
        return self._turns[index % len(self._turns)] if self._turns else None

    def sizes(self, collectors: int) -> dict[str | None, int]:
        """Return how many of ``collectors`` collectors each group has. Without groups, the only key is None."""
        return dict(counted(collectors, self._turns).items()) or {None: collectors}

    def in_order(self) -> list[Slot]:
        return sorted(self.by_name.values(), key=lambda slot: slot.index)

    # ---------------------------------------------------------------- size
    def resize(self, collectors: int, pods: Mapping[str, str | None], policy: ScalingPolicy) -> list[str]:
        """Change the number of slots. Return the names of slots to remove. ``pods`` has the pod of each collector.

        Raises UserCodeError if the policy fails. In this case nothing changes.
        """
        changes = [(group, count, self._staying(group)) for group, count in self.sizes(collectors).items()]
        # Ask the policy about all groups before the first change.
        names = [
            name
            for _, count, staying in changes
            if count < len(staying)
            for name in chosen(
                policy, [Placed(slot.name, slot.index, pods.get(slot.name)) for slot in staying], len(staying) - count
            )
        ]
        for group, count, staying in changes:
            self._grow(max(count - len(staying), 0), group)
        for name in names:
            self.by_name[name].leaving = True
            self.leaving[name] = self.by_name[name]
        self.desired = collectors
        return names

    def _staying(self, group: str | None) -> list[Slot]:
        return [slot for slot in self.by_name.values() if not slot.leaving and slot.group == group]

    def _grow(self, count: int, group: str | None) -> None:
        back = [slot for slot in self.leaving.values() if slot.group == group]
        for slot in sorted(back, key=lambda slot: slot.index)[:count]:
            slot.leaving = False
            del self.leaving[slot.name]
            self._to_be_filled(slot)
            count -= 1
        taken = {slot.index for slot in self.by_name.values()}
        free = (index for index in itertools.count() if index not in taken and self.group_of(index) == group)
        for _ in range(count):
            index = next(free)
            slot = self.by_name[f"c{index}"] = Slot(f"c{index}", index, group)
            self._to_be_filled(slot)

    def left(self, name: str) -> None:
        """Remove a slot that is leaving and has no collector any more."""
        del self.by_name[name]
        del self.leaving[name]
        self.waiting.pop(name, None)
        self._given_up.pop(name, None)

    # ---------------------------------------------------------------- pods that are replaced
    def drained(self, name: str, pod: str) -> None:
        """Record that the slot's collector ended because its pod is drained. This does not count as a loss.

        The slot is filled again as soon as the pod is gone.
        """
        slot = self.by_name[name]
        slot.vacant, slot.refill_at, slot.waits_for = True, _AT_ONCE, pod
        self.waiting[name] = slot

    def set_draining_pods(self, pods: Collection[str]) -> None:
        """Set the pods that are drained now.

        If a pod is no longer drained, slots that waited for this pod are filled again.
        """
        for name, slot in list(self.waiting.items()):
            if slot.waits_for not in pods:
                slot.waits_for = None
                del self.waiting[name]
                self._to_be_filled(slot)

    @property
    def expected_count(self) -> int:
        """The number of slots that can have a collector now.

        Slots that wait for a drained pod do not count. Slots that are given up do not count, either.
        """
        return self.desired - self.given_up - sum(not slot.leaving for slot in self.waiting.values())

    # ---------------------------------------------------------------- filling
    def to_fill(self, now: float) -> Iterator[Slot]:
        """Yield the vacant slots whose restart delay is over. A yielded slot counts as filled."""
        while self._vacant and self._vacant[0][0] <= now:
            at, *_, slot = heappop(self._vacant)
            if slot.vacant and not (slot.leaving or slot.waits_for) and slot.refill_at == at:
                restarts = slot.lost
                slot.vacant, slot.filled_at, slot.batches_before = False, now, slot.batches
                slot.restarts += restarts
                self.restarts += restarts
                yield slot

    def lost(self, name: str, cause: str, fault: Fault, now: float, node: str | None = None) -> Loss:
        """Record the loss of the slot's collector on ``node``.

        The slot stays vacant until :meth:`decided` is called.
        """
        slot = self.by_name[name]
        fault = Fault.NODE_LOST if node in self._dead_nodes else fault
        slot.last_error = cause
        self.first_cause = self.first_cause or f"{name}: {cause}"
        self.last_fault = fault
        if slot.batches > slot.batches_before and now - slot.filled_at >= HEALED_AFTER_SECONDS:
            slot.charges.clear()
        loss = Loss(name, cause, len(slot.charges), fault)
        if fault is not Fault.NODE_LOST:
            slot.charges.append(Charge(now, node))
        slot.vacant, slot.refill_at = True, None
        return loss

    def decided(self, name: str, decision: Replace | GiveUp, now: float) -> None:
        """Apply the failure policy's decision about the loss of the slot's collector."""
        slot = self.by_name[name]
        slot.refill_at = now + decision.after.total_seconds() if isinstance(decision, Replace) else None
        self._to_be_filled(slot)

    def node_died(self, node: str, now: float) -> list[Slot]:
        """Stop counting recent losses on a dead node, regardless of their cause. Return the slots of these losses."""
        self._dead_nodes.append(node)
        forgiven = []
        for slot in self.by_name.values():
            kept = [one for one in slot.charges if one.node != node or now - one.at > _NODE_FOUND_DEAD_SECONDS]
            if len(kept) == len(slot.charges):
                continue
            slot.charges = kept
            slot.last_error = f"its node died; {slot.last_error}"
            forgiven.append(slot)
            if self._given_up.pop(slot.name, None):
                slot.refill_at = now
                self._to_be_filled(slot)
        return forgiven

    @property
    def given_up(self) -> int:
        """The number of slots that are given up, not counting slots that are leaving."""
        return sum(not slot.leaving for slot in self._given_up.values())

    def _to_be_filled(self, slot: Slot) -> None:
        if not slot.vacant or slot.waits_for:
            return
        if slot.refill_at is None:
            self._given_up[slot.name] = slot
        else:
            heappush(self._vacant, (slot.refill_at, slot.index, next(self._turn), slot))
