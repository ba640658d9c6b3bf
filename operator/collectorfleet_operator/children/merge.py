"""kubectl's strategic merge, as far as pod templates need it.

Objects merge key by key, and containers merge by name. In other lists with named items, the user's item replaces the
item of the same name. A merge of two env entries or volumes would have no meaning. null removes a field. Other values
are replaced.
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
# Two ports with the same number may differ in their protocol.
_PROTOCOL: Final = "protocol"
_DEFAULT_PROTOCOL: Final = "TCP"


def merge(base: Any, over: Any) -> Any:
    """Return ``base`` with ``over`` merged over it. The arguments are not changed."""
    return _merge(base, over, "", nulls_stay=False)


def overlaid(first: Any, second: Any) -> Any:
    """Return one template: merging it has the same effect on any base as merging ``first`` and then ``second``."""
    return _merge(first, second, "", nulls_stay=True)


def _merge(base: Any, over: Any, field: str, *, nulls_stay: bool) -> Any:
    """Return ``base`` with ``over`` merged over it.

    ``field`` is the key of ``base`` and of ``over`` in their parent objects.

    ``nulls_stay``: keep a null in the result, so that the null removes a field in a later merge.
    """
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
    # For items with a missing or malformed key, the API server's own error is the best message.
    if not _have_keys(over, field):
        return over
    # The base is malformed if it is the user's template under another template.
    if not _have_keys(base, field):
        return [*base, *over]
    mine = {_identity(item, field): item for item in base}
    theirs = {_identity(item, field): item for item in over}
    deep = field in _MERGED_DEEPLY
    kept = [
        _merge(item, theirs[name], "", nulls_stay=nulls_stay) if deep and name in theirs else theirs.get(name, item)
        for name, item in mine.items()
    ]
    return kept + [item for name, item in theirs.items() if name not in mine]


def _have_keys(items: list[Any], field: str) -> bool:
    key = _MERGED_BY[field]
    return all(isinstance(item, Mapping) and isinstance(item.get(key), str | int) for item in items)


def _identity(item: Mapping[str, Any], field: str) -> tuple[Any, ...]:
    """Return the identity of a list item: two items with the same identity are merged."""
    name = item[_MERGED_BY[field]]
    return (name, str(item.get(_PROTOCOL) or _DEFAULT_PROTOCOL)) if field == "ports" else (name,)
