"""What a gather is made of: collectors that live, shares of batches, and what is admitted and handed out together."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from collectorfleet.messages import Address


class Life(Enum):
    STARTING = auto()
    JOINING = auto()
    READY = auto()


@dataclass
class Member:
    """One living collector."""

    address: Address
    started_at: float
    life: Life = Life.STARTING
    pod: str | None = None
    pid: int | None = None
    applied_version: int | None = None
    offered_version: int = 0
    in_flight: deque[int] = field(default_factory=deque)
    working_since: float | None = None  # when the oldest request in flight began
    answered: int = 0
    draining: bool = False


@dataclass
class Share:
    """One part of a batch; ``payload`` once it is answered."""

    frames: int  # asked for; then those that came
    random: bool
    request_id: int | None = None
    holder: Address | None = None  # whom it was asked of last
    payload: Any = None
    version: int | None = None
    size_bytes: int = 0
    cut_short: bool = False

    @property
    def done(self) -> bool:
        return self.version is not None


@dataclass
class Piece:
    """What was admitted together."""

    admitted_version: int
    shares: list[Share]

    @property
    def complete(self) -> bool:
        return all(share.done for share in self.shares)

    @property
    def oldest_version(self) -> int:
        """A share that is not answered yet will run with the version of its admission or a newer one."""
        return min(self.admitted_version if share.version is None else share.version for share in self.shares)

    @property
    def frames(self) -> int:
        return sum(share.frames for share in self.shares)


@dataclass(frozen=True)
class Batch:
    """What is handed out."""

    shares: list[Share]
    staleness: int  # versions

    @property
    def frames(self) -> int:
        return sum(share.frames for share in self.shares)
