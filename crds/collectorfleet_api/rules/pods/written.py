"""Finds problems of a partial pod template: fields, types, values, and repeated names in a list.

A missing field may be in the pod into which the operator merges the template. Therefore
:mod:`collectorfleet_api.rules.pods.built` checks for missing fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collectorfleet_api.packing.quantity import QuantityError, parse_quantity
from collectorfleet_api.rules.pods.types import POD_SPEC, pod_types
from collectorfleet_api.rules.pods.values import KEY_FORMS, LABEL_NAME, LABEL_VALUE, value_problem
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import did_you_mean, wrong_type

_EXPECTED: Final = {
    "string": "text",
    "boolean": "true or false",
    "int32": "a whole number",
    "int64": "a whole number",
    "intOrString": "a whole number or text",
    "object": "a mapping of keys to values",
}
_FEW_FIELDS: Final = 6  # if a type has at most this many fields, a message lists all of them
_LARGEST: Final = {"int32": 2**31 - 1, "int64": 2**63 - 1}
# Values of identifying keys that a manifest may leave out.
_DEFAULTS: Final = {"protocol": "TCP"}


def written_problems(template: dict[str, Any], path: str) -> Iterator[Problem]:
    """Yield problems of a template that passes :func:`~collectorfleet_api.rules.templates.template_problems`."""
    for field in ("labels", "annotations"):
        for name, value in (template.get("metadata", {}).get(field) or {}).items():
            wrong = LABEL_NAME(name) or (LABEL_VALUE(value) if field == "labels" and value is not None else None)
            if wrong:
                yield Problem(f"{path}.metadata.{field}.{name}", wrong)
    yield from _of_type(template.get("spec") or {}, POD_SPEC, f"{path}.spec")


def _of_type(value: dict[str, Any], name: str, path: str) -> Iterator[Problem]:
    known = pod_types()
    type_ = known.by_name[name]
    for field, inner in value.items():
        here = f"{path}.{field}"
        if field not in type_.fields:
            near = did_you_mean(field, list(type_.fields))
            if not near and len(type_.fields) <= _FEW_FIELDS:
                near = f"; it has {', '.join(type_.fields)}"
            yield Problem(here, f"unknown field of {name} in Kubernetes {known.kubernetes}{near}")
        elif (name, field) == (POD_SPEC, "ephemeralContainers") and inner:
            yield Problem(here, "a template has no ephemeral containers; use containers, or `kubectl debug` on the pod")
        elif inner is not None:  # null removes the value that the field would otherwise have
            yield from _value(inner, type_.fields[field], (name, field), here)
            if field in type_.keys and isinstance(inner, list):
                yield from _repeated(inner, type_.keys[field], here)


def _value(value: Any, kind: str, place: tuple[str, str], path: str) -> Iterator[Problem]:
    """Yield the problems of a value.

    ``kind`` is the type of the value, as in the table of types. ``place`` is the type and field that contain the value.
    """
    if kind.startswith("["):
        if not isinstance(value, list):
            yield Problem(path, "a list is expected; put '- ' before each item")
            return
        for index, item in enumerate(value):
            if item is None:
                yield Problem(f"{path}[{index}]", "a list cannot contain null; leave the null out")
            else:
                yield from _value(item, kind[1:-1], place, f"{path}[{index}]")
    elif kind.startswith("{"):
        if not isinstance(value, dict):
            yield Problem(path, wrong_type(value, _EXPECTED["object"]))
            return
        for key, item in value.items():
            here = f"{path}.{key}"
            wrong = KEY_FORMS[place](key) if place in KEY_FORMS else None
            if wrong:
                yield Problem(here, wrong)
            elif item is not None:
                yield from _value(item, kind[1:-1], place, here)
    elif kind in pod_types().by_name or kind == "object":
        if not isinstance(value, dict):
            yield Problem(path, wrong_type(value, _EXPECTED["object"]))
        elif kind != "object":
            yield from _of_type(value, kind, path)
    elif wrong := _scalar_problem(value, kind) or value_problem(place, value, required=_is_required(place)):
        yield Problem(path, wrong)


def _scalar_problem(value: Any, kind: str) -> str | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    match kind:
        case "quantity":
            try:
                parse_quantity(value)
            except QuantityError as error:
                return str(error)
            return None
        case "string":
            fits = isinstance(value, str)
        case "boolean":
            fits = isinstance(value, bool)
        case "intOrString":
            fits = whole or isinstance(value, str)
        case _:
            if whole and abs(value) > _LARGEST[kind]:
                return f"{value} is too large; use at most {_LARGEST[kind]}"
            fits = whole
    return None if fits else wrong_type(value, _EXPECTED[kind])


def _is_required(place: tuple[str, str]) -> bool:
    name, field = place
    return field in pod_types().by_name[name].required


def _repeated(items: list[Any], keys: list[str], path: str) -> Iterator[Problem]:
    """Yield a problem for each item that server-side apply or the operator's merge would merge with an earlier item."""
    seen: dict[tuple[str, ...], int] = {}
    for index, item in enumerate(items):
        if not isinstance(item, dict) or not any(key in item for key in keys):
            continue
        identity = tuple(str(item.get(key, _DEFAULTS.get(key))) for key in keys)
        first = seen.setdefault(identity, index)
        if first != index:
            shown = " ".join(identity)
            yield Problem(f"{path}[{index}].{keys[0]}", f"{shown} is item {first} already; keep one of the two")
