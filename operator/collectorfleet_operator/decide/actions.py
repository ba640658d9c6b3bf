"""What can be done about a fleet's children: each action is all that is needed to carry it out. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet_operator.objects import Kind, Object


@dataclass(frozen=True)
class Create:
    """Apply a child that is not there yet; one of that name that is not ours stays untouched."""

    kind: Kind
    manifest: Object
    why: str


@dataclass(frozen=True)
class CreateSecret:
    """Make a Secret with a random token under ``key``; one that is there stays as it is, and nobody looks at it."""

    kind: Kind
    manifest: Object
    key: str
    why: str


@dataclass(frozen=True)
class Update:
    """Apply over the child with this uid, and no other."""

    kind: Kind
    manifest: Object
    uid: str
    why: str


@dataclass(frozen=True)
class Delete:
    """Delete the child with this uid, and no other, and what it owns.

    ``at_once``: without waiting for what it owns, or for the kubelet of a node that is lost. ``grace_seconds``: how
    long a pod has to end; None: as long as it asked for. ``announced``: whether an Event says so, if it is a pod.
    """

    kind: Kind
    name: str
    uid: str
    why: str
    at_once: bool = False
    grace_seconds: int | None = None
    announced: bool = True


@dataclass(frozen=True)
class SetStatus:
    """Replace these fields of the status of ``stored``, which is not ours to apply, if nobody has changed it."""

    kind: Kind
    stored: Object
    status: Object
    why: str


Action = Create | CreateSecret | Update | Delete | SetStatus
