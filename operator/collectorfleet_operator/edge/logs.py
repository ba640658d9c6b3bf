"""The operator's log. Every line that is written during a reconcile names the fleet, including lines of libraries."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import TextIO

from collectorfleet_api.log_lines import FLEET, NAMESPACE, LogFormat, formatter
from collectorfleet_operator.objects import Key

# Each worker is a task with its own value, and reconciles one fleet at a time.
_fleet: ContextVar[Key | None] = ContextVar("fleet", default=None)


def log_to(stream: TextIO, format_: LogFormat, *, verbose: bool) -> None:
    """Write log lines to ``stream``. ``verbose``: also kopf's lines."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter(format_))
    handler.addFilter(_name_fleet)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    if not verbose:
        # kopf logs each event and each of its retries. The operator logs an outage in one line.
        logging.getLogger("kopf").setLevel(logging.CRITICAL)


def lines_are_about(fleet: Key) -> None:
    """Add the fleet's name to all later log lines of this task."""
    _fleet.set(fleet)


def _name_fleet(record: logging.LogRecord) -> bool:
    key = _fleet.get()
    if key is not None:
        record.__dict__.update({NAMESPACE: key.namespace, FLEET: key.name})
    return True
