"""Converts pydantic's errors about a manifest into sentences for its author, with paths in the manifest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from collectorfleet_api.counts import counted
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.v1alpha1.base import Model, inner_model

_LONGEST_VALUE: Final = 60
MOST_PROBLEMS: Final = 100  # the reported problems of one fleet; each costs about a millisecond
_EXPECTED: Final = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "list_type": "a list",
}


def sentences(error: ValidationError, model: type[Model], within: str = "") -> list[Problem]:
    """Return a problem for each error, in the order of the manifest's fields. ``within`` is the path of ``model``."""
    errors = error.errors(include_url=False)
    shown = [Problem(_path(within, found["loc"]), _sentence(found, model)) for found in errors[:MOST_PROBLEMS]]
    if len(errors) > MOST_PROBLEMS:
        hidden = counted(len(errors) - MOST_PROBLEMS, "problem is", "problems are")
        rest = f"from this field on, {hidden} not shown; correct the shown problems first"
        shown.append(Problem(_path(within, errors[MOST_PROBLEMS]["loc"]), rest))
    return shown


def path_text(parts: Sequence[str | int]) -> str:
    """Format ``("spec", "imagePullSecrets", 0, "name")`` as ``spec.imagePullSecrets[0].name``."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return text such as ``; did you mean replicas?`` if one of ``known`` is similar, else an empty text."""
    folded = {name.lower(): name for name in known}
    close = get_close_matches(word.replace("_", "").lower(), folded, n=1, cutoff=0.7)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def _path(within: str, loc: Sequence[str | int]) -> str:
    return path_text(([within] if within else []) + list(loc))


def _sentence(found: ErrorDetails, model: type[Model]) -> str:
    kind, value, context = found["type"], found["input"], found.get("ctx", {})
    if kind in _EXPECTED:
        return wrong_type(value, _EXPECTED[kind])
    tell = _TELLERS.get(kind)
    if tell is not None:
        return tell(value, context)
    if kind == "missing":
        return _missing(found["loc"], model)
    if kind == "extra_forbidden":
        return _unknown(found["loc"], model)
    return f"{_shown(value)}: {found['msg'][:1].lower()}{found['msg'][1:]}"


def wrong_type(value: Any, expected: str) -> str:
    advice = ""
    if isinstance(value, str) and expected in ("a whole number", "a number") and _is_number(value):
        advice = f"; write {value} without quotes"
    elif isinstance(value, int | float) and expected == "text":
        advice = "; put it in quotes"
    return f"{_shown(value)} is {_kind(value)}, and {expected} is expected{advice}"


def _choice(value: Any, context: dict[str, Any]) -> str:
    choices = [choice.strip("'") for choice in context["expected"].replace(" or ", ", ").split(", ")]
    if len(choices) == 1:
        return f"{_shown(value)} is not known here; write {choices[0]}"
    return f"{_shown(value)} is not one of {', '.join(choices)}{did_you_mean(str(value), choices)}"


_TELLERS: Final[dict[str, Callable[[Any, dict[str, Any]], str]]] = {
    "enum": _choice,
    "literal_error": _choice,
    "greater_than_equal": lambda value, context: f"{value} is too small; use {context['ge']} or more",
    "less_than_equal": lambda value, context: f"{value} is too large; use at most {context['le']}",
    "string_too_short": lambda _value, _context: "empty; write something or leave the field out",
    "string_too_long": lambda value, context: (
        f"{len(value)} characters are too many; use at most {context['max_length']}"
    ),
    "too_short": lambda _value, _context: "empty; write at least one item or leave the field out",
    "too_long": lambda _value, context: (
        f"{context['actual_length']} items are too many; use at most {context['max_length']}"
    ),
    "value_error": lambda _value, context: str(context["error"]),
}


def _missing(loc: Sequence[str | int], model: type[Model]) -> str:
    parent = _model_at(loc[:-1], model)
    field = _fields(parent).get(str(loc[-1])) if parent else None
    return f"missing, and required: {field[1]}" if field else "missing, and required"


def _unknown(loc: Sequence[str | int], model: type[Model]) -> str:
    name = str(loc[-1])
    parent = _model_at(loc[:-1], model)
    near = did_you_mean(name, list(_fields(parent))) if parent else ""
    if not near:
        # The name may be right and its place wrong, as in `spec.replicas`.
        elsewhere = [path for path in _all_paths(model) if path[-1] == name and path[0] != "status"]
        near = f"; did you mean {path_text(elsewhere[0])}?" if elsewhere else ""
    return f"unknown field{near}"


def _model_at(loc: Sequence[str | int], model: type[Model]) -> type[Model] | None:
    found: type[Model] | None = model
    for part in loc:
        if isinstance(part, int):
            continue
        field = _fields(found).get(part) if found else None
        found = field[0] if field else None
    return found


def _all_paths(model: type[Model], prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, (inner, _) in _fields(model).items():
        yield (*prefix, name)
        if inner:
            yield from _all_paths(inner, (*prefix, name))


def _fields(model: type[Model]) -> dict[str, tuple[type[Model] | None, str]]:
    """Return the inner model (or None) and the description of each field, by the field's name in manifests."""
    return {
        field.alias or name: (inner_model(field.annotation), field.description or "")
        for name, field in model.model_fields.items()
    }


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
    return "a mapping"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
