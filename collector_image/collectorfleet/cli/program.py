"""Run one command within the boundary that turns exceptions into exit codes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from collectorfleet.cli.boundary import exit_code_of
from collectorfleet.cli.signals import Raising
from collectorfleet_api.extras import is_installed

_DEBUG: Final = "--debug"


def run(words: Sequence[str], prog: str) -> int:
    """Run one command and return its exit code. Signal handlers and streams stay unchanged."""
    return exit_code_of(lambda: _run(words, prog, nullcontext), debug=_DEBUG in words)


def run_in_own_process(words: Sequence[str], prog: str) -> int:
    """Run the command of this process and return the exit code. The caller first calls ``signals.end_at_once``.

    While the command runs, Ctrl-C and SIGTERM raise exceptions. Before and after the command, they end the process at
    once.
    """
    _print_any_text()
    is_driver = words[:1] == ["drive"]
    return exit_code_of(lambda: _run(words, prog, Raising), debug=_DEBUG in words, is_driver=is_driver)


def _run(words: Sequence[str], prog: str, signals_in_command: Callable[[], AbstractContextManager[None]]) -> int:
    from collectorfleet.cli.parser import parser

    made = parser(prog)
    if "_ARGCOMPLETE" in os.environ and is_installed("argcomplete"):
        import argcomplete

        argcomplete.autocomplete(made, always_complete_options=False)
    options = made.parse_args(words)
    with signals_in_command():
        code: int = options.command(options)
        return code


def _print_any_text() -> None:
    """Make stdout and stderr print an escape for each character that their encoding lacks.

    Otherwise, printing such a character would end the command with an error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
