"""Actions on a fleet's children. Each action contains all data that the executor needs. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet_operator.objects import Kind, Object


@dataclass(frozen=True)
class Create:
    """Create a child by server-side apply. An existing object of this name stays unchanged."""

    kind: Kind
    manifest: Object
    why: str


@dataclass(frozen=True)
class CreateSecret:
    """Create a Secret with a random token under ``key``. An existing Secret stays unchanged, and is never read."""

    kind: Kind
    manifest: Object
    key: str
    why: str


@dataclass(frozen=True)
class Update:
    """Apply the manifest to the child, if the child still has this uid."""

    kind: Kind
    manifest: Object
    uid: str
    why: str


@dataclass(frozen=True)
class Delete:
    """Delete the child with this uid, and the objects that the child owns.

    ``force``: delete the child without a grace period. The API server then waits neither for owned objects nor for the
    kubelet of a lost node. ``grace_seconds``: the grace period of a pod. With None, the pod's own grace period applies.
    ``announced``: whether the operator writes an Event about the deleted pod.
    """

    kind: Kind
    name: str
    uid: str
    why: str
    force: bool = False
    grace_seconds: int | None = None
    announced: bool = True


@dataclass(frozen=True)
class SetStatus:
    """Set status fields of an object that another controller reconciles.

    The write fails if ``stored`` is no longer the newest version of the object.
    """

    kind: Kind
    stored: Object
    status: Object
    why: str


Action = Create | CreateSecret | Update | Delete | SetStatus
