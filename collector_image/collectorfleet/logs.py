"""Set up logging: to stderr in a pod, to a file in a local run."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TextIO

from collectorfleet_api.log_lines import LogFormat, OfFleet, formatter


def log_to_stream(stream: TextIO, format_: LogFormat, about: OfFleet) -> None:
    """Write log lines to ``stream`` in the format ``format_``. ``about`` adds the fleet to each line."""
    handler = logging.StreamHandler(stream)
    handler.addFilter(about)
    _install(handler, format_)


def log_to_file(file: Path, errors: TextIO | None) -> None:
    """Write log lines to ``file``, and also to ``errors`` unless it is None."""
    _install(logging.FileHandler(file, encoding="utf-8"))
    if errors:
        _install(logging.StreamHandler(errors))


def _install(handler: logging.Handler, format_: LogFormat = LogFormat.TEXT) -> None:
    handler.setFormatter(formatter(format_))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("collectorfleet").setLevel(logging.INFO)
    # Write warnings of libraries to the log, because a person at a terminal cannot act on them.
    logging.captureWarnings(capture=True)
