"""A living collector: its state, its versions and its open requests."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from collectorfleet.gather.state.plan import DEPTH
from collectorfleet.messages import CollectorId
from collectorfleet_api.v1alpha1 import CollectorState


@dataclass(eq=False, slots=True)
class Collector:
    """A living collector.

    Only :class:`Collectors` may change the fields that are counted, because the counts have to change with them.
    """

    id: CollectorId
    slot: int
    started_at: float
    group: str | None = None
    state: CollectorState = CollectorState.STARTING
    pod: str | None = None
    node: str | None = None
    pid: int | None = None
    loop: str | None = None  # the name of its rollout loop
    building_since: float | None = None  # None: it neither builds nor loads its first weights
    applied_version: int | None = None
    offered_version: int = 0
    parameters_sent: int = 0  # the newest version of parameters that was sent to it
    parameters: int = 0  # the oldest version in its environments
    in_flight: deque[int] = field(default_factory=deque)
    working_since: float | None = None  # when its work on its oldest open request began
    answered: int = 0
    draining: bool = False
    newest_admission: int = -1  # the newest admission that it got a request for
    starts_with_the_fleet: bool = False
    turn: int = 0  # the turn of its valid entry in Collectors._free; other entries are outdated

    @property
    def is_free(self) -> bool:
        return self.state is CollectorState.READY and not self.draining and len(self.in_flight) < DEPTH
