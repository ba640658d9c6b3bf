"""Where log lines go: to stderr in a pod, to a file in a local run."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TextIO

_FORMAT = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"


def log_to_stream(stream: TextIO) -> None:
    _install(logging.StreamHandler(stream))


def log_to_file(file: Path, errors: TextIO | None) -> None:
    """Lines into ``file``, and onto ``errors`` as well if there is one."""
    _install(logging.FileHandler(file, encoding="utf-8"))
    if errors:
        _install(logging.StreamHandler(errors))


def _install(handler: logging.Handler) -> None:
    formatter = logging.Formatter(_FORMAT, datefmt="%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("collectorfleet").setLevel(logging.INFO)
    # Warnings of libraries are for the log; a person at a terminal can do nothing about them.
    logging.captureWarnings(capture=True)
