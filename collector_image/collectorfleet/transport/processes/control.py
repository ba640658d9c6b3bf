"""What driver and process of a collector tell each other: small messages, whatever carries frames and weights."""

from __future__ import annotations

from dataclasses import dataclass, field

from collectorfleet.messages import Message, Request


@dataclass(frozen=True, slots=True)
class Build:
    """The first message to a member. ``config`` and ``policy`` are pickled: to unpickle them may raise anything."""

    config: bytes = field(repr=False)
    policy: bytes | None = field(repr=False)  # None: it is in the other
    seed: int  # the fleet's
    seed_environment: bool


@dataclass(frozen=True, slots=True)
class Offered:
    """A version, with the parcels of its weights and its normalization."""

    policy: str
    version: int
    weights: int
    normalization: int | None


@dataclass(frozen=True, slots=True)
class Run:
    request: Request
    along: Offered | None


@dataclass(frozen=True, slots=True)
class Ask:
    """Call a method of the server, between two rollouts."""

    number: int
    method: str
    arguments: bytes  # a tuple, pickled


@dataclass(frozen=True, slots=True)
class CutShort:
    request_id: int


@dataclass(frozen=True, slots=True)
class Replied:
    """A member's reply to an Ask: a pickled Returned or Failed."""

    number: int
    pickled: bytes


@dataclass(frozen=True, slots=True)
class Said:
    """A member's message without frames."""

    message: Message
