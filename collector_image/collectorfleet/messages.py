"""What driver and collector say to each other: requests and answers, weights, and what went wrong. No torch, no I/O.

What the driver tells a collector returns at once; what becomes of it arrives as messages, in any order and possibly
never: a collector may die without a word. Every message names the collector and its incarnation, so one of a retired
incarnation can be told apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


@dataclass(frozen=True)
class Address:
    """One life of one collector: ``c3`` in its second life is ``Address("c3", 2)``."""

    name: str
    incarnation: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Request:
    """One rollout of ``frames`` frames, to be run with weights of at least ``min_version``, or exactly ``version``."""

    id: int
    frames: int
    min_version: int
    version: int | None = None
    random: bool = False  # uniformly random actions in place of the policy's


@dataclass(frozen=True)
class Stored:
    """A snapshot of the weights in the transport's store: ``handle`` is the transport's own."""

    digest: str
    size_bytes: int
    handle: Any = field(repr=False)


@dataclass(frozen=True)
class Weights:
    """A published version on its way."""

    version: int
    stored: Stored


class Fault(StrEnum):
    """What kind of loss it was; also the reason that the status gives."""

    DIED = "Died"
    HUNG = "Hung"
    OUT_OF_MEMORY = "OutOfMemory"
    NODE_LOST = "NodeLost"
    WEIGHTS = "WeightsNotApplied"


@dataclass(frozen=True)
class Segment:
    """From ``first_step`` of a rollout on, frames were made with ``version``."""

    first_step: int
    version: int


@dataclass(frozen=True)
class Started:
    """The collector built its environment and policy."""

    address: Address
    pod: str  # where it runs
    pid: int


@dataclass(frozen=True)
class Applied:
    """The collector loaded this version, or one newer than offered, and this is the digest of what it then had."""

    address: Address
    version: int
    digest: str


@dataclass(frozen=True)
class Finished:
    """The answer to a request. ``payload`` is what a batch is made from: :class:`collectorfleet.codec.frames.Part`,
    or None if the collector wrote the frames to a replay buffer itself."""

    address: Address
    request_id: int
    payload: Any = field(repr=False)
    frames: int  # valid transitions
    version: int  # the oldest of the versions that made them
    seconds: float  # of the rollout itself, by the collector's clock
    size_bytes: int = 0
    pickled: int = 0  # entries that no array could carry


@dataclass(frozen=True)
class Raised:
    """The user's code raised in the collector: ``where`` is environment or policy, ``cause`` its own last line."""

    address: Address
    where: str
    cause: str
    traceback: str = field(repr=False, default="")


@dataclass(frozen=True)
class Lost:
    """The collector is gone, or its answer is: the infrastructure's fault, not the user's."""

    address: Address
    cause: str
    fault: Fault = Fault.DIED
    request_id: int | None = None  # only this answer is lost, the collector is not


Event = Started | Applied | Finished | Raised | Lost
