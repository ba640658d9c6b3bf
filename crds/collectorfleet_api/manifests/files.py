"""Files of Kubernetes manifests: the fleets in them, the objects beside them, and everything wrong with either."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from collectorfleet_api.manifests.yaml_reader import Document, YamlError, read_documents
from collectorfleet_api.names import API_VERSION, GROUP, KIND
from collectorfleet_api.rules.advice import warnings
from collectorfleet_api.rules.config_map_keys import key_problem
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import did_you_mean
from collectorfleet_api.rules.validation import read
from collectorfleet_api.v1alpha1.base import one_kind_of_number
from collectorfleet_api.v1alpha1.fleet import CollectorFleet


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """A problem with its place: ``fleet.yaml:12: error: spec.collectors.replicaz: unknown field; ...``."""

    source: str
    line: int  # counted from 1
    severity: Severity
    problem: Problem

    def __str__(self) -> str:
        what = str(self.problem) if self.problem.field else self.problem.message
        return f"{self.source}:{self.line}: {self.severity}: {what}"


@dataclass(frozen=True)
class Manifests:
    """What one file holds. ``fleets`` has only those without problems, ``objects`` everything of other kinds."""

    fleets: list[CollectorFleet] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def errors(self) -> list[Finding]:
        return [found for found in self.findings if found.severity is Severity.ERROR]

    def config_map(self, name: str) -> dict[str, str] | None:
        """Texts by key of the ConfigMap ``name``, as ``spec.code.configMap`` names it; None if it is not here."""
        for obj in self.objects:
            if obj.get("kind") == "ConfigMap" and obj.get("metadata", {}).get("name") == name:
                return {key: str(text) for key, text in (obj.get("data") or {}).items()}
        return None


def load_file(path: Path) -> Manifests:
    """Read a file of manifests. Raises OSError where that cannot be done."""
    return load_manifests(path.read_text(encoding="utf-8", errors="replace"), str(path))


def load_manifests(text: str, source: str = "stdin") -> Manifests:
    """Read manifests separated by ``---``; ``source`` stands before the line in findings. Never raises."""
    loaded = Manifests()
    try:
        for document in read_documents(text):
            _add(loaded, document, source)
    except YamlError as error:
        loaded.findings.append(Finding(source, error.line, Severity.ERROR, Problem("", str(error))))
    loaded.findings.sort(key=lambda found: found.line)
    return loaded


def _add(loaded: Manifests, document: Document, source: str) -> None:
    def note(severity: Severity, found: list[Problem], prefix: str = "") -> None:
        loaded.findings.extend(
            Finding(source, document.line_of(prefix + problem.field), severity, problem) for problem in found
        )

    note(Severity.ERROR, document.problems)
    for prefix, obj in _objects(one_kind_of_number(document.content)):
        wrong = _kind_problem(obj)
        if wrong:
            note(Severity.ERROR, [wrong], prefix)
        elif obj["kind"] != KIND:
            note(Severity.ERROR, _key_problems(obj), prefix)
            loaded.objects.append(obj)
        else:
            fleet = read(obj)
            if isinstance(fleet, list):
                note(Severity.ERROR, fleet, prefix)
                continue
            note(Severity.WARNING, warnings(fleet), prefix)
            if not document.problems:
                loaded.fleets.append(fleet)


def _objects(content: Any) -> Iterator[tuple[str, Any]]:
    """The objects of a document with their paths: itself, or the items of a ``kind: List``."""
    if isinstance(content, dict) and content.get("kind") == "List" and isinstance(content.get("items"), list):
        for index, item in enumerate(content["items"]):
            yield f"items[{index}].", item
    else:
        yield "", content


def _key_problems(obj: dict[str, Any]) -> list[Problem]:
    if obj["kind"] != "ConfigMap" or obj["apiVersion"] != "v1":
        return []
    return [
        Problem(field, wrong)
        for field in ("data", "binaryData")
        if isinstance(obj.get(field), dict)
        for key in obj[field]
        if (wrong := key_problem(key))
    ]


def _kind_problem(obj: Any) -> Problem | None:
    if not isinstance(obj, dict):
        return Problem("", "not a Kubernetes object: a mapping with apiVersion, kind and metadata is expected")
    kind, version = obj.get("kind"), obj.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        return Problem("kind", f"missing, and required; a fleet has kind: {KIND}")
    if not isinstance(version, str) or not version:
        return Problem("apiVersion", f"missing, and required; a fleet has apiVersion: {API_VERSION}")
    if version.split("/")[0] == GROUP and kind != KIND:
        return Problem("kind", f'"{kind}" is not a kind of {GROUP}{did_you_mean(kind, [KIND])}')
    if kind == KIND and version.split("/")[0] != GROUP:
        return Problem("apiVersion", f'"{version}" has no {KIND}; write {API_VERSION}')
    return None
