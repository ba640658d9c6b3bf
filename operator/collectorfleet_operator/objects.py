"""Kubernetes objects as plain dicts: the class of a kind, and functions that read fields of any object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from collectorfleet_api.times import parse_time

Object = dict[str, Any]

# If the operator cannot read an object, it adds the reason to the object under this key, in a sentence. The API server
# stores no object with this key beside ``spec``.
UNREADABLE: Final = "unreadable"

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Kind:
    """A resource of the API server: its ``apiVersion`` and ``kind`` in manifests, and its name in URLs.

    ``api_version`` has the newest version that this operator supports. ``Kube.as_served`` returns the kind in the
    served version.
    """

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def group(self) -> str:
        """Return the API group, or an empty text for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    def at(self, version: str) -> Kind:
        """Return the same resource in another version of its group."""
        return replace(self, api_version=f"{self.group}/{version}")

    @property
    def full_name(self) -> str:
        """Return the name as in ``kubectl api-resources``: ``rayclusters.ray.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, order=True)
class Key:
    """The namespace and name of an object. The key of a fleet also identifies the work on that fleet."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def metadata(obj: Object) -> Object:
    found: Object = obj["metadata"]
    return found


def why_unreadable(obj: Object) -> str | None:
    """Return why this operator cannot read the object, in a sentence, or None if it can."""
    found: str | None = obj.get(UNREADABLE)
    return found


def name_of(obj: Object) -> str:
    return str(metadata(obj)["name"])


def namespace_of(obj: Object) -> str:
    return str(metadata(obj)["namespace"])


def uid_of(obj: Object) -> str:
    return str(metadata(obj)["uid"])


def created_at(obj: Object) -> datetime:
    """Return when the object was created, by the API server's clock, or 1970 if the time cannot be parsed."""
    return parse_time(metadata(obj).get("creationTimestamp")) or _LONG_AGO


def changed_at(obj: Object) -> datetime | None:
    """Return when a client last changed the object, to the second, or None if its managed fields have no time."""
    times = [parse_time(one.get("time")) for one in metadata(obj).get("managedFields") or []]
    return max((time for time in times if time is not None), default=None)


def started_at(job: Object) -> datetime | None:
    """Return when a Job began, according to the Job controller, or None until the controller has set the time."""
    return parse_time((job.get("status") or {}).get("startTime"))


def label(obj: Object, name: str) -> str | None:
    found: str | None = (metadata(obj).get("labels") or {}).get(name)
    return found


def annotation(obj: Object, name: str) -> str | None:
    found: str | None = (metadata(obj).get("annotations") or {}).get(name)
    return found


def deleted_at(obj: Object) -> datetime:
    """Return when the grace period of a deletion ends, by the API server's clock.

    Return the creation time if the object is not being deleted.
    """
    return parse_time(metadata(obj).get("deletionTimestamp")) or created_at(obj)


def is_terminating(obj: Object) -> bool:
    return metadata(obj).get("deletionTimestamp") is not None


def controller_uid(obj: Object) -> str | None:
    """Return the uid of the controller from the object's owner references, or None without a controller."""
    owners: list[Object] = metadata(obj).get("ownerReferences") or []
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), None)


def has_condition(obj: Object, type_: str) -> bool:
    """Return whether the object's condition ``type_`` is True."""
    conditions: list[Object] = (obj.get("status") or {}).get("conditions") or []
    return any(c.get("type") == type_ and c.get("status") == "True" for c in conditions)


def turned_at(obj: Object, type_: str) -> datetime | None:
    """Return when a condition last changed, or None if the condition or its time is missing."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    times = (parse_time(one.get("lastTransitionTime")) for one in conditions if one.get("type") == type_)
    return next((time for time in times if time is not None), None)
