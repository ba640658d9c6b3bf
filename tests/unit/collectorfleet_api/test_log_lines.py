"""Log lines for people, and for what collects logs."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from collectorfleet_api.log_lines import JsonLines, OfFleet, TextLines

NOON = datetime(2026, 7, 1, 12, 0, 0, 250_000, UTC)


def record(message: str, *args: object, error: BaseException | None = None, **extra: Any) -> logging.LogRecord:
    info = (type(error), error, error.__traceback__) if error else None
    made = logging.LogRecord("collectorfleet.run", logging.WARNING, __file__, 1, message, args, info)
    made.created, made.msecs = NOON.timestamp(), 250
    made.__dict__.update(extra)
    return made


def broken() -> ValueError:
    try:
        raise ValueError("loss is NaN\nat batch 3")
    except ValueError:
        error = sys.exception()
        assert isinstance(error, ValueError)
        return error


def test_a_line_is_one_json_object_whatever_the_message_holds() -> None:
    line = JsonLines().format(record('%s said "no"\nand went', "c3"))
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "2026-07-01T12:00:00.250Z",
        "level": "WARNING",
        "logger": "collectorfleet.run",
        "message": 'c3 said "no"\nand went',
    }


def test_an_exception_is_one_field_whether_it_is_at_hand_or_known_as_text() -> None:
    raised = JsonLines().format(record("failed", error=broken()))
    assert "\n" not in raised
    assert json.loads(raised)["exception"].endswith("ValueError: loss is NaN\nat batch 3")
    told = JsonLines().format(record("failed", exception="Traceback: of the user's code"))
    assert json.loads(told)["exception"] == "Traceback: of the user's code"


def test_a_line_names_the_fleet_that_it_is_about_and_nothing_else_of_what_hangs_on_it() -> None:
    about = record("joined", token="s3cret", request={"headers": {"Authorization": "Bearer s3cret"}})
    assert OfFleet("lab", "cheetah").filter(about)
    line = JsonLines().format(about)
    assert "s3cret" not in line
    assert json.loads(line) | {"namespace": "lab", "fleet": "cheetah"} == json.loads(line)


def test_a_line_for_people_has_the_exception_below_it() -> None:
    assert TextLines().format(record("joined")) == "2026-07-01T12:00:00.250Z WARNING collectorfleet.run: joined"
    text = TextLines().format(record("failed: no such game", exception="Traceback: of the user's code"))
    assert text.endswith("failed: no such game\nTraceback: of the user's code")
    assert TextLines().format(record("failed", error=broken())).endswith("ValueError: loss is NaN\nat batch 3")
