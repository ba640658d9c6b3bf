"""Reads files of Kubernetes manifests: fleets, other objects, and the problems of both."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from collectorfleet_api.manifests.references import find_config_maps, missing_keys
from collectorfleet_api.manifests.yaml_reader import Document, YamlError, read_documents
from collectorfleet_api.names import API_VERSION, GROUP, KIND
from collectorfleet_api.rules.advice import warnings
from collectorfleet_api.rules.config_map_keys import key_problem
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.rules.sentences import did_you_mean
from collectorfleet_api.rules.validation import read
from collectorfleet_api.v1alpha1.base import whole_floats_to_int
from collectorfleet_api.v1alpha1.fleet import CollectorFleet

# Five times the largest object that etcd stores. This reader needs about two seconds for such a file.
MAX_FILE_BYTES: Final = 8 * 2**20
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# Returns further problems of a fleet that passed all other checks.
Check = Callable[[CollectorFleet], list[Problem]]


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
    """The content of one file: ``fleets`` without problems, ``objects`` of other kinds, and the ``findings``."""

    fleets: list[CollectorFleet] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def errors(self) -> list[Finding]:
        return [found for found in self.findings if found.severity is Severity.ERROR]

    def config_map(self, name: str) -> dict[str, str] | None:
        """Return the texts of the ConfigMap ``name`` by key, or None if the file does not have this ConfigMap."""
        for obj in find_config_maps(self.objects, name):
            data = obj.get("data")
            return {key: str(text) for key, text in data.items()} if isinstance(data, dict) else {}
        return None


def load_file(path: Path, check: Check | None = None) -> Manifests:
    """Read a file of manifests. Raises OSError."""
    with path.open("rb") as file:
        return load_stream(file, str(path), check)


def load_stream(stream: BinaryIO, source: str, check: Check | None = None) -> Manifests:
    """Read manifests from bytes, with the arguments of :func:`load_manifests`. Raises OSError."""
    found = stream.read(MAX_FILE_BYTES + 1)
    try:
        return load_manifests(_text(found), source, check)
    except UnicodeDecodeError as error:
        wrong = f"not text: byte 0x{found[error.start]:02x} is not UTF-8; name a manifest, or save the file as UTF-8"
        line = found.count(b"\n", 0, error.start) + 1
    except YamlError as error:
        wrong, line = str(error), error.line
    return Manifests(findings=[Finding(source, line, Severity.ERROR, Problem("", wrong))])


def _text(found: bytes) -> str:
    """Decode the content of a file. Raises UnicodeDecodeError, or YamlError if the content is too large or UTF-16."""
    if len(found) > MAX_FILE_BYTES:
        line = found.count(b"\n") + 1
        raise YamlError(
            line, f"more than {MAX_FILE_BYTES // 2**20} MiB; split the file, and name only files of manifests"
        )
    if found.startswith(_UTF_16):
        raise YamlError(1, "UTF-16 text; save the file as UTF-8")
    return found.decode()


def load_manifests(text: str, source: str = "stdin", check: Check | None = None) -> Manifests:
    """Read manifests separated by ``---``. Never raises.

    Each Finding names ``source`` and the line. ``check`` gets each fleet without problems, and may find more problems.
    """
    reading = _Reading(source, check)
    try:
        for document in read_documents(text):
            reading.add(document)
    except YamlError as error:
        reading.note_at(error.line, Problem("", str(error)))
    reading.check_references()
    loaded = reading.loaded
    loaded.findings.sort(key=lambda found: found.line)
    return loaded


@dataclass
class _Reading:
    """The state of reading one file."""

    source: str
    check: Check | None
    loaded: Manifests = field(default_factory=Manifests)
    lines: dict[tuple[str, ...], int] = field(default_factory=dict)  # by group, kind, namespace and name
    line_of: list[Callable[[str], int]] = field(default_factory=list)  # the line of a field, for each valid fleet

    def note_at(self, line: int, problem: Problem, severity: Severity = Severity.ERROR) -> None:
        self.loaded.findings.append(Finding(self.source, line, severity, problem))

    def add(self, document: Document) -> None:
        for problem in document.problems:
            self.note_at(document.line_of(problem.field), problem)
        for prefix, obj in _objects(whole_floats_to_int(document.content)):
            wrong = _kind_problem(obj)
            problems = [wrong] if wrong else self._repeated(obj, document.line_of(prefix + "metadata.name"))
            if not wrong and obj["kind"] == KIND:
                fleet = _fleet(obj, self.check)
                if isinstance(fleet, list):
                    problems += fleet
                else:
                    for advice in warnings(fleet):
                        self.note_at(document.line_of(prefix + advice.field), advice, Severity.WARNING)
                    if not problems and not document.problems:
                        self.loaded.fleets.append(fleet)
                        self.line_of.append(partial(_line_of, document, prefix))
            elif not wrong:
                problems += _key_problems(obj)
                self.loaded.objects.append(obj)
            for problem in problems:
                self.note_at(document.line_of(prefix + problem.field), problem)

    def check_references(self) -> None:
        """Report each key that a fleet reads from a ConfigMap of this file, but that the ConfigMap does not have."""
        valid = []
        for fleet, line_of in zip(self.loaded.fleets, self.line_of, strict=True):
            references = missing_keys(fleet, self.loaded.objects)
            for found in references:
                severity = Severity.ERROR if found.required else Severity.WARNING
                self.note_at(line_of(found.problem.field), found.problem, severity)
            if not any(found.required for found in references):
                valid.append(fleet)
        self.loaded.fleets[:] = valid

    def _repeated(self, obj: dict[str, Any], line: int) -> list[Problem]:
        """Return a problem if an earlier object has the same name.

        ``kubectl apply`` would silently replace the first object.
        """
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(name := metadata.get("name"), str):
            return []
        group = obj["apiVersion"].rpartition("/")[0]
        first = self.lines.setdefault((group, obj["kind"], str(metadata.get("namespace")), name), line)
        if first == line:
            return []
        return [Problem("metadata.name", f"{obj['kind']} {name} is on line {first} already; rename one of the two")]


def _line_of(document: Document, prefix: str, path: str) -> int:
    return document.line_of(prefix + path)


def _fleet(obj: dict[str, Any], check: Check | None) -> CollectorFleet | list[Problem]:
    fleet = read(obj)
    if isinstance(fleet, list) or check is None:
        return fleet
    return check(fleet) or fleet


def _objects(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield the objects of a document with their paths: the document itself, or the items of a ``kind: List``."""
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
