"""kubectl's strategic merge, as far as pod templates need it.

Objects merge key by key, and containers merge by name. Other lists of named things take the user's item whole, because
half of an env entry or of a volume means nothing. null removes, and everything else is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_MERGED_BY: Final = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
}
_MERGED_DEEPLY: Final = ("containers", "initContainers")
# Kubernetes tells two ports of one number apart by their protocols.
_PROTOCOL: Final = "protocol"
_DEFAULT_PROTOCOL: Final = "TCP"


def merge(base: Any, over: Any) -> Any:
    """``base`` with ``over`` on top; neither is changed."""
    return _merge(base, over, "", nulls_stay=False)


def overlaid(first: Any, second: Any) -> Any:
    """What has to be merged over a base to have ``first`` and then ``second`` on top of it."""
    return _merge(first, second, "", nulls_stay=True)


def _merge(base: Any, over: Any, field: str, *, nulls_stay: bool) -> Any:
    """``field`` is the key under which both stand."""
    if isinstance(over, Mapping):
        merged = dict(base) if isinstance(base, Mapping) else {}
        for key, value in over.items():
            if value is not None:
                merged[key] = _merge(merged.get(key), value, key, nulls_stay=nulls_stay)
            elif nulls_stay:
                merged[key] = None
            else:
                merged.pop(key, None)
        return merged
    if isinstance(base, list) and isinstance(over, list) and field in _MERGED_BY:
        return _merge_named(base, over, field, nulls_stay=nulls_stay)
    return over


def _merge_named(base: list[Any], over: list[Any], field: str, *, nulls_stay: bool) -> list[Any]:
    key = _MERGED_BY[field]
    # Of what has no such key, or something odd as one, the API server says what is wrong.
    if not all(isinstance(item, Mapping) and isinstance(item.get(key), str | int) for item in over):
        return over
    mine = {_identity(item, field): item for item in base}
    theirs = {_identity(item, field): item for item in over}
    deep = field in _MERGED_DEEPLY
    kept = [
        _merge(item, theirs[name], "", nulls_stay=nulls_stay) if deep and name in theirs else theirs.get(name, item)
        for name, item in mine.items()
    ]
    return kept + [item for name, item in theirs.items() if name not in mine]


def _identity(item: Mapping[str, Any], field: str) -> tuple[Any, ...]:
    """Return what two items of a list have in common if they are the same one."""
    name = item[_MERGED_BY[field]]
    return (name, str(item.get(_PROTOCOL) or _DEFAULT_PROTOCOL)) if field == "ports" else (name,)
