"""Finds the place in the user's templates for a path in the merged pod."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import path_text

Path = tuple[str | int, ...]
# The fields that identify items of merged lists.
_KNOWN_BY: Final = ("name", "mountPath", "devicePath", "containerPort")


@dataclass(frozen=True)
class BuiltProblem:
    """A problem of a merged pod. ``path`` begins at the pod template.

    ``other`` is a second path of the same problem. The message shows the path that is in a user's template.
    """

    path: Path
    message: str
    other: Path = ()


@dataclass(frozen=True)
class Written:
    """A template that the user wrote, and its path in the manifest."""

    template: dict[str, Any]
    path: str


def placed(problem: BuiltProblem, pod: dict[str, Any], templates: Sequence[Written]) -> Problem:
    """Return the problem with the place in ``templates`` where it occurs.

    The first template is the most specific one.
    """
    paths = [path for path in (problem.path, problem.other) if path]
    best, missing = templates[0].path, len(problem.path) + 1
    for template in templates:
        for path in paths:
            own = _own(path, pod, template.template)
            if len(path) - len(own) < missing:
                best, missing = path_text([template.path, *own]), len(path) - len(own)
    return Problem(best, problem.message)


def _own(path: Path, pod: dict[str, Any], template: dict[str, Any]) -> Path:
    """Return the beginning of ``path`` that exists in ``template``, translated to the template's indexes.

    If only the last field is missing in the template, and ``pod`` lacks it too, the result includes this field.
    """
    at_pod: Any = pod
    at: Any = template
    own: list[str | int] = []
    for number, part in enumerate(path):
        if isinstance(part, int):
            index = _index(at, at_pod, part)
            if index is None:
                break
            at, at_pod = at[index], at_pod[part]
            own.append(index)
        else:
            is_missing = number == len(path) - 1 and isinstance(at, dict) and part not in (at_pod or {})
            if not isinstance(at, dict) or part not in at:
                if is_missing:
                    own.append(part)
                break
            at, at_pod = at[part], (at_pod or {}).get(part)
            own.append(part)
    return tuple(own)


def _index(items: Any, in_pod: list[Any], index: int) -> int | None:
    if not isinstance(items, list):
        return None
    wanted = in_pod[index]
    if index < len(items) and items[index] == wanted:
        return index
    for key in _KNOWN_BY:
        if isinstance(wanted, dict) and wanted.get(key) is not None:
            same = (at for at, item in enumerate(items) if isinstance(item, dict) and item.get(key) == wanted[key])
            return next(same, None)
    return index if index < len(items) else None
