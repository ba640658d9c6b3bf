"""Extract the part of a fleet's spec that may affect training. Pure.

If two runs have equal parts, one run repeats the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collectorfleet.timeline.secrets import without_secrets, without_words
from collectorfleet_api.v1alpha1 import CollectorFleetSpec

Configuration = dict[str, Any]

# Fields for how pods are scheduled, restarted and cleaned up, and for where files are stored.
_OPERATIONAL: Final = frozenset(
    {
        *("imagePullPolicy", "imagePullSecrets", "priorityClassName", "tolerations", "networkPolicy", "workers", "ray"),
        *("updateStrategy", "progressDeadlineSeconds", "suspend", "whenFinished", "ttlSecondsAfterFinished"),
        *("activeDeadlineSeconds", "startupDeadlineSeconds", "idleTimeoutSeconds", "backoffLimit", "output"),
    }
)
_OPERATIONAL_OF_DRIVER: Final = frozenset({"checkpoint", "livenessDeadlineSeconds", "log"})


def configuration(spec: CollectorFleetSpec) -> Configuration:
    """Return the configuration as JSON values. Users may publish it, so it omits pod templates and secrets."""
    wire = spec.to_wire()
    found = {key: _shared(key, value) for key, value in wire.items() if key not in _OPERATIONAL}
    found["driver"] = {key: value for key, value in found["driver"].items() if key not in _OPERATIONAL_OF_DRIVER}
    if spec.code is not None:
        found["code"] = _code(wire["code"])
    return found


def changed_fields(before: Configuration, after: Configuration) -> list[str]:
    """Return the paths of the fields whose values differ, such as ``driver.train.kwargs.lr``, in alphabetical order."""
    return sorted(_changed(before, after))


def _changed(before: Configuration, after: Configuration) -> Iterator[str]:
    for key in before.keys() | after.keys():
        one, other = before.get(key), after.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from (f"{key}.{path}" for path in _changed(one, other))
        elif one != other:
            yield key


def _shared(key: str, value: Any) -> Any:
    """Return the value of the field ``key`` without values that are or may be secret."""
    if key == "kwargs":
        return without_secrets(value)
    if key == "args":
        return without_words(value)
    if key == "command":
        return [value[0], *without_words(value[1:])]
    if isinstance(value, list):
        return [_shared("", one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: _shared(name, one) for name, one in value.items() if name != "template"}


def _code(code: dict[str, Any]) -> Configuration:
    """Return the fields that identify the code.

    The ConfigMap of an archive is left out, because its name differs between runs.
    """
    parts = {
        "configMap": code.get("configMap"),
        "archive": code.get("archive", {}).get("sha256"),
        "commit": code.get("git", {}).get("commit"),
        "artifact": code.get("artifact", {}).get("reference"),
        "path": code.get("path"),
    }
    return {key: value for key, value in parts.items() if value is not None}
