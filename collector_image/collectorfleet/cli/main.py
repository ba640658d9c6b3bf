"""The entry point of ``collectorfleet`` and ``python -m collectorfleet.cli``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from collectorfleet.cli.parser import parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = parser().parse_args(arguments)
    code: int = options.command(options)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # a reader that went away; Python would flush once more, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
