"""Manifests with something odd in any field of the spec, drawn from the schema: always the same ones for one seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from tests.combinations import GO_TOGETHER
from tests.manifests import manifest

from collectorfleet_api.schema.crd import schema

Schema = dict[str, Any]
Path = tuple[str | int, ...]

# Among them something for each pattern, and near misses.
TEXTS = [
    *("a:b", "a.b:c.d", "a", "a.b", "a:b:c", "cuda", "cuda:1", "cpu", "2.60.0", "2.6", "50%", "0%", "100%", "101%"),
    *("src", "src/a.b", "../src", "/src", "train.py", "/opt/train.py", "train", "https://example.com/a.git"),
    *("http://localhost/a", "ftp://example.com/a", "https://me:secret@example.com/a", "0" * 64, "0" * 40, "g" * 64),
    *("nvidia.com/gpu", "gpu", "half", "Half", "ä:b", "", " ", "a\n", "$(a)", "1", "500m", "2Gi", "null", "true"),
    "x" * 5000,
    f"ghcr.io/me/lab@sha256:{'0' * 64}",
]
NUMBERS = [0, 1, 2, 4, 8, 64, 65, 1000, 1001, -1, 0.5, 0.25, 0.1, 1.0, 1.5, 1e3, 1e-7, 1e20, 2**31, 2**53]
OTHERS: list[Any] = [None, True, False, [], {}, [None], {"a": None}, [[]], "text", 1]


def odd_manifests(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Manifests that go together, each with one to three of its fields drawn anew."""
    choose, spec = random.Random(seed), schema()["properties"]["spec"]
    fields = list(nodes(spec))
    found = []
    for index in range(count):
        fleet = manifest(dict(choose.choice(GO_TOGETHER).values[0]), name=f"odd-{index}")
        for path, part in choose.choices(fields, k=choose.choice([1, 1, 1, 2, 3])):
            _put(fleet["spec"], path, _value(choose, part))
        if choose.random() < 0.05:
            _put(fleet["spec"], (*choose.choice(fields)[0][:-1], "unheardOf"), 1)
        found.append(fleet)
    return found


def nodes(part: Schema, path: Path = ()) -> Iterator[tuple[Path, Schema]]:
    """Every field, by path; of a list its first item."""
    if path:
        yield path, part
    for name, inner in part.get("properties", {}).items():
        yield from nodes(inner, (*path, name))
    if "items" in part:
        yield from nodes(part["items"], (*path, 0))


def _put(at: Any, path: Path, value: Any) -> None:
    """Where what is on the way is of another shape, nothing."""
    for part, following in itertools.pairwise(path):
        empty: Any = [] if following == 0 else {}
        match at:
            case dict():
                at = at.setdefault(part, empty)
            case list():
                if not at:
                    at.append(empty)
                at = at[0]
            case _:
                return
    match at:
        case dict() if path[-1] != 0:
            at[path[-1]] = value
        case list() if path[-1] == 0:
            at[:1] = [value]


def _value(choose: random.Random, part: Schema) -> Any:
    """Mostly of the field's type, and at the ends of what it takes."""
    if choose.random() < 0.15:
        others = OTHERS if "type" in part else [one for one in OTHERS if one not in ({}, [])]  # known to differ
        return deepcopy(choose.choice(others))
    kinds: dict[str | None, Any] = {"object": _object, "array": _array, "string": _text, "boolean": _boolean}
    return kinds.get(part.get("type"), _number_or_text)(choose, part)


def _object(choose: random.Random, part: Schema) -> Any:
    required, names = part.get("required", []), sorted(part.get("properties", {}))
    if not names:
        return choose.choice([{}, {"a": 1}, {"a": {"b": ["c"]}}, {"a-b": "c"}, {"a": None}])
    chosen = {name for name in names if choose.random() < (0.9 if name in required else 0.3)}
    return {name: _value(choose, part["properties"][name]) for name in sorted(chosen)}


def _array(choose: random.Random, part: Schema) -> Any:
    most = part.get("maxItems", 3)
    return [_value(choose, part["items"]) for _ in range(choose.choice([0, 1, 1, 2, min(most + 1, 40)]))]


def _text(choose: random.Random, part: Schema) -> Any:
    if "enum" in part and choose.random() < 0.8:
        return choose.choice(part["enum"])
    most = part.get("maxLength")
    return choose.choice([*TEXTS, *(["a" * most, "a" * (most + 1)] if most else [])])


def _boolean(choose: random.Random, _: Schema) -> Any:
    return choose.choice([True, True, False, False, 0, "true"])


def _number_or_text(choose: random.Random, part: Schema) -> Any:
    ends = [part[end] + step for end in ("minimum", "maximum") if end in part for step in (-1, 0, 1)]
    plain = part.get("type") in ("integer", "number")
    texts = [] if plain else ["500m", "2Gi", "1", "50%", "x", "-1", "1e3"]
    return choose.choice([*NUMBERS, *ends, *ends, *texts])
