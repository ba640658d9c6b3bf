"""The messages of the charts and their alerts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from tests.messages.python_texts import PUT_IN

_ACTION: Final = re.compile(r"\{\{.*?\}\}")
_ACTIONS_ONLY: Final = re.compile(r"\s*(?:\{\{.*?\}\}\s*)+")
_VERB: Final = re.compile(r"%[a-z]")
_FAIL: Final = re.compile(r"\bfail (?:\(printf )?\"((?:[^\"\\]|\\.)*)\"")
# Of an admission policy, and of the health check for Argo CD.
_MESSAGE: Final = re.compile(r"^ *message: (.*)$|\bmessage = \"([^\" ]+ [^\"]+)\"", re.MULTILINE)


def notes(template: str) -> Iterator[str]:
    """Yield the paragraphs and the commands of a NOTES.txt."""
    paragraph: list[str] = []
    for line in [*template.splitlines(), ""]:
        is_command = line.startswith("  ")
        ends = is_command or not line.strip() or _ACTIONS_ONLY.fullmatch(line)
        if ends and paragraph:
            yield " ".join(paragraph)
            paragraph = []
        if is_command:
            yield _said(line.strip())
        elif not ends:
            paragraph.append(_said(line.strip()))


def refusals(template: str) -> Iterator[str]:
    """Yield the messages of a template, an admission policy or a health check."""
    for text in _FAIL.findall(template):
        yield _VERB.sub(PUT_IN, text.replace("\\\\", "\\").replace('\\"', '"'))
    for policy, check in _MESSAGE.findall(template):
        yield _said(policy or check)


def chart_messages(charts: Path) -> Iterator[tuple[str, str]]:
    """Yield the path of a file, such as ``collectorfleet/templates/NOTES.txt``, with each of its messages."""
    templates = (path for path in charts.glob("*/templates/**/*") if path.is_file())
    for path in sorted([*templates, *charts.glob("*/files/*.lua")]):
        found = notes if path.name == "NOTES.txt" else refusals
        yield from ((str(path.relative_to(charts)), text) for text in found(path.read_text()))


def alerts(rules: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the summary of each alert."""
    for group in yaml.safe_load(rules)["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], _said(rule["annotations"]["summary"])


def _said(line: str) -> str:
    return re.sub(rf"{PUT_IN}+", PUT_IN, _ACTION.sub(PUT_IN, line))
