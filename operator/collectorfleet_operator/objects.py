"""Kubernetes objects as plain dicts: what a kind is, and the few things that are asked of any object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from collectorfleet_api.times import parse_time

Object = dict[str, Any]

# The key that this operator adds to an object which it cannot read: why, in a sentence. The API server stores no object
# with such a key beside ``spec``.
UNREADABLE: Final = "unreadable"

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Kind:
    """A resource of the API server: what a manifest says, and how its URL is spelled.

    ``api_version`` names the newest version that this operator knows. ``Kube.as_served`` names the one that is served.
    """

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def group(self) -> str:
        """Empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    def at(self, version: str) -> Kind:
        """Return the same resource in another version of its group."""
        return replace(self, api_version=f"{self.group}/{version}")

    @property
    def full_name(self) -> str:
        """As ``kubectl api-resources`` spells it: ``rayclusters.ray.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, order=True)
class Key:
    """Which fleet: everything that concerns one fleet is done under its key."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def metadata(obj: Object) -> Object:
    found: Object = obj["metadata"]
    return found


def why_unreadable(obj: Object) -> str | None:
    """Why this operator cannot read the object, in a sentence; None if it can."""
    found: str | None = obj.get(UNREADABLE)
    return found


def name_of(obj: Object) -> str:
    return str(metadata(obj)["name"])


def namespace_of(obj: Object) -> str:
    return str(metadata(obj)["namespace"])


def uid_of(obj: Object) -> str:
    return str(metadata(obj)["uid"])


def created_at(obj: Object) -> datetime:
    """When the object was created. Only the API server writes this time; 1970 where it cannot be read."""
    return parse_time(metadata(obj).get("creationTimestamp")) or _LONG_AGO


def changed_at(obj: Object) -> datetime | None:
    """When somebody last wrote something else into it, to the second; None if nobody said so."""
    times = [parse_time(one.get("time")) for one in metadata(obj).get("managedFields") or []]
    return max((time for time in times if time is not None), default=None)


def started_at(job: Object) -> datetime | None:
    """When a Job began, by the Job controller; None until it has looked at it."""
    return parse_time((job.get("status") or {}).get("startTime"))


def label(obj: Object, name: str) -> str | None:
    found: str | None = (metadata(obj).get("labels") or {}).get(name)
    return found


def annotation(obj: Object, name: str) -> str | None:
    found: str | None = (metadata(obj).get("annotations") or {}).get(name)
    return found


def deleted_at(obj: Object) -> datetime:
    """When the grace period of a deletion ends. Only the API server writes this time."""
    return parse_time(metadata(obj).get("deletionTimestamp")) or created_at(obj)


def is_terminating(obj: Object) -> bool:
    return metadata(obj).get("deletionTimestamp") is not None


def controller_uid(obj: Object) -> str | None:
    """The uid of the object that controls this one, by its owner reference."""
    owners: list[Object] = metadata(obj).get("ownerReferences") or []
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), None)


def has_condition(obj: Object, type_: str) -> bool:
    """Whether the object's status says ``type_`` is True."""
    conditions: list[Object] = (obj.get("status") or {}).get("conditions") or []
    return any(c.get("type") == type_ and c.get("status") == "True" for c in conditions)


def turned_at(obj: Object, type_: str) -> datetime | None:
    """When a condition last changed; None if it is not there or does not say."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    times = (parse_time(one.get("lastTransitionTime")) for one in conditions if one.get("type") == type_)
    return next((time for time in times if time is not None), None)
