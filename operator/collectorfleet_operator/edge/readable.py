"""Stand-ins for objects that this operator cannot read. An unreadable object then does not affect other objects.

Tenants may store any content. An object is unreadable if it is nested too deeply, or if a part that this operator needs
has a wrong type. Its stand-in keeps the object's identity and has the reason, so that the fleet's status can report the
reason.
"""

from __future__ import annotations

from typing import Any, Final

from collectorfleet_api.nesting import TOO_DEEP, decode
from collectorfleet_operator.objects import UNREADABLE, Kind, Object, why_unreadable

_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp")
_DELETION: Final = ("deletionTimestamp",)


def object_of(text: str | bytes) -> Any:
    """Decode an answer of the API server, without values that are nested too deeply. Raises json.JSONDecodeError."""
    value, path = decode(text)
    if path is not None and isinstance(value, dict):
        value[UNREADABLE] = f"{path}: {TOO_DEEP}"
    return value


def event_of(line: bytes) -> Any:
    """Decode a line of a watch. Its object is decoded as by :func:`object_of`."""
    value, path = decode(line, within="object")
    if path is not None:
        value["object"][UNREADABLE] = f"{path}: {TOO_DEEP}"
    return value


def stand_in(kind: Kind, obj: Object, error: Exception) -> Object:
    """Return a stand-in, with identity, owners and labels, for an object whose parsing raised ``error``.

    Raises TypeError or KeyError for an object without an identity.
    """
    metadata = obj["metadata"]
    kept = {field: metadata[field] for field in _IDENTITY if isinstance(metadata.get(field), str | int)}
    kept |= {field: metadata[field] for field in _DELETION if metadata.get(field) is not None}
    labels = metadata.get("labels")
    if isinstance(labels, dict):
        kept["labels"] = {key: value for key, value in labels.items() if isinstance(value, str)}
    owners = metadata.get("ownerReferences")
    if isinstance(owners, list):
        kept["ownerReferences"] = [owner for owner in owners if isinstance(owner, dict) and "uid" in owner]
    cause = f"this operator cannot read {kind} {kept['name']}: {type(error).__name__}: {error}"
    # A value may be missing because it was nested too deeply and removed. The message then names the depth as the
    # reason.
    found = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": kept}
    return {**found, UNREADABLE: why_unreadable(obj) or cause}
