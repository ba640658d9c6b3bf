"""What this release understands of what another one may have written."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from pydantic import ValidationError

from collectorfleet_api.v1alpha1.base import Model

M = TypeVar("M", bound=Model)
Path = tuple[str | int, ...]


def understood(model: type[M], stored: dict[str, Any]) -> M:
    """``stored`` without the values that this release has no word for, and without what cannot be without them."""
    known = stored
    while True:
        try:
            return model.from_wire(known, ignore_unknown=True)
        except ValidationError as error:
            if known is stored:
                known = copy.deepcopy(stored)
            wrong = {_whole(one["loc"], one["type"]) for one in error.errors()}
            # What is inside first, and of a list the last first, so that all others are still where they were.
            for path in sorted(wrong, key=_place, reverse=True):
                _leave_out(known, path)


def _whole(path: Path, error: str) -> Path:
    """The path of what is to go: of a part that lacks something, the part."""
    return path[:-1] if error == "missing" else path


def _place(path: Path) -> list[tuple[str, int]]:
    return [("", step) if isinstance(step, int) else (step, 0) for step in path]


def _leave_out(known: dict[str, Any], path: Path) -> None:
    """Remove what is at ``path``, which may go on with names of types where it may have several."""
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
