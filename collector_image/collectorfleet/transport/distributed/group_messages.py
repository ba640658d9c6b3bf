"""Messages of the driver and a member about the process group. They are sent over the member's link.

The messages announce frames and weights with their shapes. The data is sent over the group. Objects of variable size
are sent over the link. The other messages are in :mod:`collectorfleet.transport.processes.control`.
"""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet.transport.processes.parcel import Header


@dataclass(frozen=True, slots=True)
class RollCall:
    """Answer with :class:`RollCallAnswer`. The driver is about to form a gang."""


@dataclass(frozen=True, slots=True)
class RollCallAnswer:
    """A member's answer to :class:`RollCall`, from the thread that uses the group."""


@dataclass(frozen=True, slots=True)
class Form:
    """Leave the old gang. Join the new gang at the store, ``(host, port)``, as ``rank`` of ``size``."""

    epoch: int
    store: tuple[str, int]
    rank: int
    size: int


@dataclass(frozen=True, slots=True)
class ReceiveParcel:
    """Receive a parcel over the group of that epoch. The parcel is broadcast, or sent to this member only."""

    epoch: int
    parcel: int
    header: Header
    broadcast: bool


@dataclass(frozen=True, slots=True)
class SendFrames:
    """Send the frames of the answer to this request. Use the group of that epoch."""

    epoch: int
    request_id: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """The driver has received the frames for this request. Until this message, the member stores the frames."""

    request_id: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete this parcel. No later offer names it."""

    parcel: int


@dataclass(frozen=True, slots=True)
class Broken:
    """A member reports that the gang of that epoch broke or could not be formed."""

    epoch: int
    why: str


@dataclass(frozen=True, slots=True)
class ParcelReceived:
    """A member acknowledges a parcel."""

    parcel: int
