"""Pod templates as people write them, from ``tests/data/pod_templates.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from collectorfleet_api.manifests.yaml_reader import read_documents
from collectorfleet_api.rules.validation import read
from collectorfleet_api.v1alpha1 import CollectorFleet
from tests.manifests import manifest


@dataclass(frozen=True)
class Case:
    """A template of the pods of ``of``, and what ``validate`` says of it. ``hidden``: why the API server sees nothing
    of the problem."""

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
    """A fleet with the template, which has no other problems."""
    fleet = read(manifest({case.of: case.template}))
    assert isinstance(fleet, CollectorFleet), fleet
    return fleet


_TEXT: Final = Path(__file__).with_name("data") / "pod_templates.yaml"
[_document] = read_documents(_TEXT.read_text())
ACCEPTED: Final = _cases(_document.content["accepted"])
REFUSED: Final = _cases(_document.content["refused"])
