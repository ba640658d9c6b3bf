"""Log lines of operator and driver: for people, or one JSON object a line for what collects logs.

A JSON line has the fields that are named here and no others: what a library hangs onto a record stays out of it.
"""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

# Attributes of a record: whom it is about, and an exception that is known as text only.
NAMESPACE: Final = "namespace"
FLEET: Final = "fleet"
EXCEPTION: Final = "exception"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def formatter(format_: LogFormat) -> logging.Formatter:
    return JsonLines() if format_ is LogFormat.JSON else TextLines()


class TextLines(logging.Formatter):
    """Time (UTC), level, logger and message; an exception stands below."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", datefmt="%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        text, exception = super().format(record), record.__dict__.get(EXCEPTION)
        return f"{text}\n{exception}" if exception else text


class JsonLines(logging.Formatter):
    """``time`` (RFC 3339), ``level``, ``logger``, ``message``; ``namespace``, ``fleet`` and ``exception`` if known."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        known = {field: record.__dict__.get(field) for field in (NAMESPACE, FLEET, EXCEPTION)}
        line |= {field: value for field, value in known.items() if value}
        if record.exc_info:
            line[EXCEPTION] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class OfFleet(logging.Filter):
    """Lets every record pass, and says on it which fleet it is about."""

    def __init__(self, namespace: str, fleet: str) -> None:
        super().__init__()
        self._of = {NAMESPACE: namespace, FLEET: fleet}

    def filter(self, record: logging.LogRecord) -> bool:
        record.__dict__.update(self._of)
        return True
