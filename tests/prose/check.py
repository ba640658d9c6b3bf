"""Run vale over everything that a person reads here."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.prose.texts import comments_of, help_of

HERE = Path(__file__).parent
PAGES = ("*.md", "docs/**/*.md")
CODE = ("crds/**/*.py", "operator/**/*.py", "collector_image/**/*.py")
# Between these comments a test has written what it saw, in the words of other programs.
MEASURED = re.compile(r"<!-- written by .*?<!-- end of what it wrote -->", re.DOTALL)
# Written from texts of the source, which are checked where they are written.
GENERATED = ("docs/reference.md", "docs/all-messages.md")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message} [{self.rule}]\n    {self.text}"


def findings(vale: Path, root: Path) -> list[Finding]:
    """Return the findings of all rules in the files below ``root``, by path and line."""
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(folder)
        _write_texts(root, copies)
        command = [str(vale), "--config", str(HERE / "vale.ini"), "--output", "JSON", "--no-exit", "."]
        done = subprocess.run(command, cwd=copies, capture_output=True, text=True, check=True)
    found = [
        Finding(path, alert["Line"], alert["Check"], alert["Message"], _line(root / path, alert["Line"]))
        for copy, alerts in json.loads(done.stdout or "{}").items()
        for path in [_original(copy)]
        for alert in alerts
    ]
    return sorted(set(found), key=lambda one: (one.path, one.line, one.rule, one.message))


def _write_texts(root: Path, copies: Path) -> None:
    for path in _paths(root, PAGES):
        page = MEASURED.sub(lambda found: "\n" * found[0].count("\n"), (root / path).read_text())
        _write(copies / "pages" / path, page)
    for path in _paths(root, CODE):
        source = (root / path).read_text()
        _write(copies / "help" / f"{path}.md", help_of(source))
        _write(copies / "code" / f"{path}.md", comments_of(source))


def _paths(root: Path, patterns: tuple[str, ...]) -> Iterator[str]:
    for pattern in patterns:
        found = sorted(str(path.relative_to(root)) for path in root.glob(pattern))
        yield from (path for path in found if path not in GENERATED)


def _write(copy: Path, text: str) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text)


def _original(copy: str) -> str:
    """Return the path of the file of which vale read a copy."""
    return copy.partition("/")[2].replace(".py.md", ".py")


def _line(path: Path, number: int) -> str:
    return path.read_text().splitlines()[number - 1].strip()
