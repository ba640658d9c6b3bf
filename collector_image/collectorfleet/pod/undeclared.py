"""Find and remove the fields of a report that the installed CRD does not know. Pure.

The API server refuses a whole apply with HTTP 500 if one field is unknown. If the driver is newer than the CRD, the
driver omits the field and logs a warning. The driver still updates the other fields of the status.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

FieldPath = tuple[str, ...]

_UNDECLARED = re.compile(": field not declared in schema")


def undeclared_fields(message: str) -> list[FieldPath]:
    """Return the unknown fields in an error message, as paths below ``status``. Other errors give an empty list.

    For example, ``.status.collectors[name="c0"].mood: field not declared in schema`` is ``("collectors", "mood")``.
    """
    found = []
    # The API server quotes a user's text, so each step needs linear time.
    for text in _UNDECLARED.split(message)[:-1]:
        path = re.split(r"[\s:]", text)[-1].partition(".status")[2]
        names = re.sub(r"\[[^\[\]]*\]", "", path).split(".")[1:]
        if names:
            found.append(tuple(names))
    return found


def without(status: dict[str, Any], fields: Set[FieldPath]) -> dict[str, Any]:
    """Return a copy of ``status`` without ``fields``. In a list, remove the field from each item."""
    for path in fields:
        status = _without(status, path)
    return status


def _without(value: Any, path: FieldPath) -> Any:
    if isinstance(value, list):
        return [_without(item, path) for item in value]
    if not isinstance(value, dict) or path[0] not in value:
        return value
    if len(path) == 1:
        return {key: inner for key, inner in value.items() if key != path[0]}
    return {**value, path[0]: _without(value[path[0]], path[1:])}
