"""What driver and member of a gang tell each other beside the process group: small messages over one link.

Frames and weights are announced here, with their shapes, and travel over the group; what has no fixed size does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.messages import Answer, Message, Request
from collectorfleet.transport.packed import Layout


@dataclass(frozen=True, slots=True)
class Build:
    """The first that a member hears. ``config`` and ``policy`` are pickled: to unpickle them may raise anything."""

    config: bytes = field(repr=False)
    policy: bytes | None = field(repr=False)  # None: it is in the other
    seed: int
    seed_environment: bool


@dataclass(frozen=True, slots=True)
class Call:
    """Say that you are here: a gang is about to be formed."""


@dataclass(frozen=True, slots=True)
class Here:
    """Of a member: what its thread that is alone with the group says to a call."""


@dataclass(frozen=True, slots=True)
class Form:
    """Leave the gang that there was, and meet the others at the store, ``(host, port)``, as ``rank`` of ``size``."""

    epoch: int
    store: tuple[str, int]
    rank: int
    size: int


@dataclass(frozen=True, slots=True)
class Take:
    """A parcel comes over the group of that epoch, by broadcast or to this member alone."""

    epoch: int
    parcel: int
    bare: Snapshot  # without its arrays, which come packed
    layout: Layout
    broadcast: bool


@dataclass(frozen=True, slots=True)
class Give:
    """Send the frames that answer this request, over the group of that epoch."""

    epoch: int
    request_id: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """The frames that answer this request have arrived; a member keeps them until it hears so."""

    request_id: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Nobody will be offered this parcel again."""

    parcel: int


@dataclass(frozen=True, slots=True)
class Offered:
    """A version, by the parcels that its weights and its normalization are in."""

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
class Broken:
    """Of a member: the gang of that epoch cannot go on, or cannot be formed."""

    epoch: int
    why: str


@dataclass(frozen=True, slots=True)
class Has:
    """Of a member: the parcel arrived."""

    parcel: int


@dataclass(frozen=True, slots=True)
class Announced:
    """Of a member: frames wait to be fetched, packed. ``answer`` has none of them."""

    answer: Answer
    layout: Layout


@dataclass(frozen=True, slots=True)
class Replied:
    """Of a member: what came of an ask, a pickled Returned or Failed."""

    number: int
    pickled: bytes


@dataclass(frozen=True, slots=True)
class Said:
    """Of a member: a message without frames."""

    message: Message
