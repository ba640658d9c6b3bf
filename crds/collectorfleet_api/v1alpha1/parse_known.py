"""Reads objects that another release may have written."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from pydantic import ValidationError

from collectorfleet_api.v1alpha1.base import Model

M = TypeVar("M", bound=Model)
Path = tuple[str | int, ...]


def parse_known(model: type[M], stored: dict[str, Any]) -> M:
    """Return the model of ``stored`` without the values that this release does not define.

    If a part then lacks a required field, the part is removed, too.
    """
    known = stored
    while True:
        try:
            return model.from_wire(known, ignore_unknown=True)
        except ValidationError as error:
            if known is stored:
                known = copy.deepcopy(stored)
            wrong = {_whole(one["loc"], one["type"]) for one in error.errors()}
            # Remove inner values first, and list items from the end, so that the other paths stay valid.
            for path in sorted(wrong, key=_place, reverse=True):
                _leave_out(known, path)


def _whole(path: Path, error: str) -> Path:
    """Return the path to remove: for a missing field, the part that lacks the field."""
    return path[:-1] if error == "missing" else path


def _place(path: Path) -> list[tuple[str, int]]:
    return [("", step) if isinstance(step, int) else (step, 0) for step in path]


def _leave_out(known: dict[str, Any], path: Path) -> None:
    """Remove the value at ``path``. If the value's type is a union, pydantic adds names of types to the path."""
    holder: Any = None
    at: Any = None
    value: Any = known
    for step in path:
        try:
            inner = value[step]
        except (KeyError, IndexError, TypeError):
            break
        holder, at, value = value, step, inner
    if holder is None:
        known.clear()
    else:
        del holder[at]
