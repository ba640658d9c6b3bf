"""What driver and member of a gang tell each other about the process group, over their link.

Frames and weights are announced here, with their shapes, and travel over the group; what has no fixed size does not.
The rest is in :mod:`collectorfleet.transport.processes.control`.
"""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet.transport.processes.parcel import Header


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
    header: Header
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
class Broken:
    """Of a member: the gang of that epoch cannot go on, or cannot be formed."""

    epoch: int
    why: str


@dataclass(frozen=True, slots=True)
class Has:
    """Of a member: the parcel arrived."""

    parcel: int
