"""What users and their code write is shown as it is: no display takes it for markup or for orders to a terminal."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import pytest
from rich.console import Console, RenderableType
from tests.cluster.binaries import ROOT
from tests.unit.collectorfleet.display.reports import report

from collectorfleet.display import summary
from collectorfleet.display.live import table
from collectorfleet.display.overview import Overview
from collectorfleet.display.plain import plain
from collectorfleet.display.report.files import write_page
from collectorfleet.display.text import progress_line
from collectorfleet.local.terminal import Terminal
from collectorfleet.run.exit import UserError
from collectorfleet.timeline.timeline import RunEvent, Timeline
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport

HOSTILE = [
    "[/dev/shm/ray]",
    "[batch, 4]",
    "[eval] reward",
    "loss[cuda:0]",
    "[bold]loud[/bold]",
    "[link=https://example.org]here",
    "[",
    "\\[red]",
    ":warning:",
    "\x1b[2Jcleared",
    "\x1b]0;title\x07",
    "\x9b31mred",
    "hidden\rshown",
    "\x00",
    "two\nlines\u2028three",
    "\u202ebackwards",
    "\ud800 half",
]
hostile = pytest.mark.parametrize("text", HOSTILE, ids=ascii)


def drawn(renderable: RenderableType) -> str:
    """As a program does that knows nothing of our console."""
    out = io.StringIO()
    Console(file=out, width=400, force_terminal=True, color_system=None).print(renderable)
    return out.getvalue()


def report_with(text: str) -> DriverReport:
    made = report()
    assert made.progress
    rows = [row.model_copy(update={"name": text, "last_error": text}) for row in made.collectors]
    progress = made.progress.model_copy(update={"metrics": {text: 1.0}})
    return made.model_copy(update={"progress": progress, "collectors": rows})


def fleet_with(text: str) -> CollectorFleet:
    stored = json.loads((ROOT / "tests/data/fleets/changed-held.json").read_text())["fleet"]
    found = CollectorFleet.parse_stored(stored)
    assert found.status
    assert found.status.progress
    status = found.status.model_copy(
        update={
            "conditions": [one.model_copy(update={"reason": text, "message": text}) for one in found.status.conditions],
            "collectors": [
                one.model_copy(update={"name": text, "group": text, "pod": text, "last_error": text})
                for one in found.status.collectors
            ],
            "progress": found.status.progress.model_copy(update={"metrics": {text: 1.0}}),
        }
    )
    metadata = found.metadata.model_copy(update={"name": text, "namespace": text})
    return found.model_copy(update={"status": status, "metadata": metadata})


def status_of(text: str) -> str:
    now = datetime.now(UTC)
    events = [summary.EventRow(time=now, warning=True, reason=text, message=text)]
    return "\n".join(summary.lines(fleet_with(text), events, now))


def overview_of(text: str) -> str:
    return "\n".join(Overview(namespaces=True, wide=True).lines([(fleet_with(text), False)], datetime.now(UTC)))


DISPLAYS: dict[str, tuple[Callable[[str], str], int]] = {
    "live table": (lambda text: drawn(table(text, report_with(text), 1.0)), 6),
    "progress line": (lambda text: progress_line(report_with(text), 1.0), 1),
    "status": (status_of, 8),
    "overview": (overview_of, 1),
}


@hostile
@pytest.mark.parametrize("display", DISPLAYS)
def test_every_character_is_shown_and_none_is_obeyed(display: str, text: str) -> None:
    show, times = DISPLAYS[display]
    shown = show(text)
    assert shown.count(plain(text)) >= times, shown
    assert {one for one in shown if not one.isprintable()} <= {"\n"}
    assert shown.encode()


@hostile
def test_what_the_code_prints_above_the_table_is_shown_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal(out=Screen(), errors=io.StringIO())
    with terminal.progress("fleet", report):
        print(text)
        sys.stdout.write(text)
        sys.stdout.flush()
    assert isinstance(terminal.out, Screen)
    if text.isprintable():
        assert terminal.out.getvalue().count(text) >= 2


@hostile
def test_how_a_run_ended_is_one_line(text: str) -> None:
    terminal = Terminal(out=io.StringIO(), errors=io.StringIO())
    terminal.say_exit(UserError(text, "Traceback ..."), Path("run.log"))
    assert isinstance(terminal.errors, io.StringIO)
    assert terminal.errors.getvalue() == f"error: {plain(text)}\nThe traceback is in run.log.\n"


@hostile
def test_the_page_is_written_with_every_character_as_text(text: str, tmp_path: Path) -> None:
    happened = [RunEvent(time=1.0, what=text, collector=text)]
    run = Timeline(fleet=text, began=0.0, times=[1.0], series={f"reported/{text}": [1.0]}, happened=happened)
    write_page(tmp_path / "page.html", text)(run)
    page = (tmp_path / "page.html").read_bytes().decode()
    assert page.count(escape(text).encode(errors="backslashreplace").decode()) >= 4


def test_text_without_oddities_stays_as_it_is() -> None:
    assert plain("r\u00e9ward \u03bb 87.1 \u2192 [x]") == "r\u00e9ward \u03bb 87.1 \u2192 [x]"
