"""The operator's log. A line that is written while a fleet is looked at names the fleet, whoever writes it."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import TextIO

from collectorfleet_api.log_lines import FLEET, NAMESPACE, LogFormat, formatter
from collectorfleet_operator.objects import Key

# Who looks at fleets is a task with a value of its own, and looks at one at a time.
_fleet: ContextVar[Key | None] = ContextVar("fleet", default=None)


def log_to(stream: TextIO, format_: LogFormat, *, verbose: bool) -> None:
    """Write lines to ``stream``. ``verbose``: what kopf says, too."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter(format_))
    handler.addFilter(_name_fleet)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    if not verbose:
        # kopf logs each event, and each of its retries during an outage that we tell in one line.
        logging.getLogger("kopf").setLevel(logging.CRITICAL)


def lines_are_about(fleet: Key) -> None:
    """From here on, in this task."""
    _fleet.set(fleet)


def _name_fleet(record: logging.LogRecord) -> bool:
    key = _fleet.get()
    if key is not None:
        record.__dict__.update({NAMESPACE: key.namespace, FLEET: key.name})
    return True
