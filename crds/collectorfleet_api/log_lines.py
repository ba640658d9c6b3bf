"""Formats log lines of operator and driver as text for people, or as JSON lines for log collectors.

A JSON line has only the fields that this module names. Attributes that libraries add to a record are left out.
"""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

# Attributes of a record: the namespace and name of its fleet, and an exception that is available only as text.
NAMESPACE: Final = "namespace"
FLEET: Final = "fleet"
EXCEPTION: Final = "exception"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def formatter(format_: LogFormat) -> logging.Formatter:
    return JsonLines() if format_ is LogFormat.JSON else TextLines()


class TextLines(logging.Formatter):
    """Text lines with time (UTC), level, logger and message. An exception follows on its own lines."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", datefmt="%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        text, exception = super().format(record), record.__dict__.get(EXCEPTION)
        return f"{text}\n{exception}" if exception else text


class JsonLines(logging.Formatter):
    """JSON lines with ``time`` (RFC 3339), ``level``, ``logger`` and ``message``.

    The fields ``namespace``, ``fleet`` and ``exception`` are present if the record has them.
    """

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
    """A filter that drops no record, and adds the fleet to each record."""

    def __init__(self, namespace: str, fleet: str) -> None:
        super().__init__()
        self._of = {NAMESPACE: namespace, FLEET: fleet}

    def filter(self, record: logging.LogRecord) -> bool:
        record.__dict__.update(self._of)
        return True
