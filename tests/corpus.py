"""Read pod templates as people write them, from ``tests/data/pod_templates.yaml``."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from collectorfleet_api.manifests.yaml_reader import read_documents
from collectorfleet_api.rules.validation import read
from collectorfleet_api.v1alpha1 import CollectorFleet
from tests.manifests import manifest


@dataclass(frozen=True)
class Case:
    """A pod template for the field ``of``, and the problem that ``validate`` reports.

    ``hidden`` is the reason why the API server does not see the problem; empty if it does.
    """

    template: dict[str, Any]
    of: str = "spec.workers.template"
    problem: str = ""
    hidden: str = ""


def _cases(found: dict[str, dict[str, Any]]) -> dict[str, Case]:
    ours = ("of", "problem", "hidden")
    return {
        name: Case(
            {key: value for key, value in case.items() if key not in ours},
            **{key: case[key] for key in ours if key in case},
        )
        for name, case in found.items()
    }


def fleet_of(case: Case) -> CollectorFleet:
    """Return a fleet with the template. AssertionError if :func:`read` finds a problem."""
    fleet = read(manifest({case.of: case.template}))
    assert isinstance(fleet, CollectorFleet), fleet
    return fleet


ODD: Final[list[Any]] = [
    *("", 1, -1, 0.5, 70_000, 3_000_000_000, True, False, "x", "X", "A b", "1", "1Gi", "a/b", "../a", "Always", "None"),
    *([], {}, ["x"], {"x": "y"}, {"name": "x"}),
]


def odd_template(template: dict[str, Any], choose: Random, odd: list[Any]) -> dict[str, Any]:
    """Return a copy of ``template`` with one or two odd parts: replaced, absent, duplicated or renamed.

    ``odd`` has the values that replace a part.
    """
    made = deepcopy(template)
    for _ in range(choose.choice([1, 1, 2])):
        parts = list(_parts(made.get("spec")))
        if not parts:
            break
        inside, key = choose.choice(parts)
        match choose.choice(["other", "other", "absent", "twice", "renamed"]):
            case "absent":
                del inside[key]
            case "twice" if isinstance(inside, list):
                inside.append(deepcopy(inside[key]))
            case "renamed" if isinstance(inside, dict):
                inside[choose.choice([key.lower(), f"{key}s", key[1:]])] = inside.pop(key)
            case _:
                inside[key] = deepcopy(choose.choice(odd))
    return made


def _parts(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each nested part of a value, as the mapping or list that contains it and its key or index."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _parts(value[key])


_TEXT: Final = Path(__file__).with_name("data") / "pod_templates.yaml"
[_document] = read_documents(_TEXT.read_text())
ACCEPTED: Final = _cases(_document.content["accepted"])
REFUSED: Final = _cases(_document.content["refused"])
