"""Which collectors there are to be, and what became of each so far. Pure.

A seat is a collector's place in the fleet, ``c0``, ``c1``, ...; whoever sits on it may be replaced. A seat that a
smaller fleet does not have takes its counts along: one that a larger fleet adds later begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collectorfleet.messages import Fault
from collectorfleet.policies.failure import FailurePolicy, GiveUp, Loss
from collectorfleet.policies.scaling import Placed, ScalingPolicy


@dataclass(frozen=True)
class Gone:
    """A collector that is not there now, and when it comes back; None: it does not."""

    cause: str
    restart_at: float | None


@dataclass
class Seat:
    name: str
    index: int
    leaving: bool = False
    gone: Gone | None = None
    restarts: int = 0
    charged: int = 0  # restarts that count against a budget
    last_error: str | None = None
    batches: int = 0
    frames: int = 0


class Roster:
    def __init__(self, collectors: int) -> None:
        self.seats: dict[str, Seat] = {}
        self.desired = 0
        self.restarts = 0  # of seats that are no more, too
        self.first_cause: str | None = None
        self.last_fault: Fault | None = None
        self._grow(collectors)

    def resize(self, collectors: int, pods: Mapping[str, str | None], policy: ScalingPolicy) -> list[str]:
        """Have so many; returns the names that leave. ``pods`` says where those that run do."""
        staying = [seat for seat in self.seats.values() if not seat.leaving]
        if collectors > len(staying):
            self._grow(collectors - len(staying))
            return []
        self.desired = collectors
        placed = [Placed(seat.name, seat.index, pods.get(seat.name)) for seat in staying]
        names = list(policy.leaving(placed, len(staying) - collectors))
        for name in names:
            self.seats[name].leaving = True
        return names

    def _grow(self, count: int) -> None:
        for seat in sorted((s for s in self.seats.values() if s.leaving), key=lambda s: s.index)[:count]:
            seat.leaving = False
            count -= 1
        taken = {seat.index for seat in self.seats.values()}
        free = (index for index in range(len(taken) + count + 1) if index not in taken)
        for _ in range(count):
            index = next(free)
            self.seats[f"c{index}"] = Seat(f"c{index}", index)
        self.desired = sum(not seat.leaving for seat in self.seats.values())

    def to_start(self, living: Mapping[str, object], now: float) -> Iterator[Seat]:
        """Seats that nobody sits on and whose pause is over."""
        for seat in list(self.seats.values()):
            if seat.leaving or seat.name in living:
                continue
            if seat.gone is None or (seat.gone.restart_at is not None and seat.gone.restart_at <= now):
                yield seat

    def started(self, seat: Seat) -> None:
        if seat.gone is not None:
            seat.gone = None
            seat.restarts += 1
            self.restarts += 1

    def lost(self, name: str, cause: str, fault: Fault, policy: FailurePolicy, now: float) -> str:
        """A collector is gone; returns the decision's reason."""
        seat = self.seats[name]
        seat.last_error = cause
        self.first_cause = self.first_cause or f"{name}: {cause}"
        self.last_fault = fault
        decision = policy.decide(Loss(name, cause, seat.charged, fault))
        seat.charged += fault is not Fault.NODE_LOST
        restart_at = None if isinstance(decision, GiveUp) else now + decision.after.total_seconds()
        seat.gone = Gone(cause, restart_at)
        return decision.reason

    def left(self, name: str) -> None:
        """A leaving seat is empty."""
        del self.seats[name]

    @property
    def lost_for_good(self) -> int:
        return sum(
            seat.gone is not None and seat.gone.restart_at is None and not seat.leaving for seat in self.seats.values()
        )
