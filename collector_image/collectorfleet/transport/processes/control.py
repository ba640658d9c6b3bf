"""Small messages between the driver and a collector's process. Frames and weights are sent separately."""

from __future__ import annotations

from dataclasses import dataclass, field

from collectorfleet.messages import Message, Request


@dataclass(frozen=True, slots=True)
class Build:
    """The first message to a member. ``config`` and ``policy`` are pickled. Unpickling them may raise any error."""

    config: bytes = field(repr=False)
    policy: bytes | None = field(repr=False)  # None: ``config`` contains the policy
    seed: int  # the fleet's seed
    seed_environment: bool


@dataclass(frozen=True, slots=True)
class Offered:
    """A version, with the parcel numbers of its weights and its normalization."""

    policy: str
    version: int
    weights: int
    normalization: int | None


@dataclass(frozen=True, slots=True)
class Run:
    request: Request
    request_weights: Offered | None


@dataclass(frozen=True, slots=True)
class Ask:
    """Call a method of the server, between two rollouts."""

    number: int
    method: str
    arguments: bytes  # a pickled tuple


@dataclass(frozen=True, slots=True)
class CutShort:
    request_id: int


@dataclass(frozen=True, slots=True)
class Replied:
    """A member's reply to an Ask: a pickled Returned or Failed."""

    number: int
    pickled: bytes


@dataclass(frozen=True, slots=True)
class MemberMessage:
    """A member's message without frames."""

    message: Message
