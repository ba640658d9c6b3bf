"""The entry points: ``collectorfleet``, ``kubectl cfleet`` and what completes the latter.

This module imports little, because it decides what Ctrl-C does during the other imports.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Final

from collectorfleet.cli import signals
from collectorfleet.cli.boundary import exit_code_of
from collectorfleet.cli.extras import is_installed

_PLUGIN: Final = "kubectl cfleet"
_DEBUG: Final = "--debug"
# To kubectl: complete with these alone, and no file names.
_NO_FILES: Final = ":4"


def main(arguments: Sequence[str] | None = None, *, prog: str = "collectorfleet") -> int:
    """Run one command; returns the exit code.

    Without ``arguments`` it uses ``sys.argv`` and handles the signals of the process.
    """
    if arguments is not None:
        return exit_code_of(lambda: _run(arguments, prog, nullcontext), with_traceback=_DEBUG in arguments)
    signals.end_at_once()
    _print_any_text()
    words = sys.argv[1:]
    # The log of a driver's pod has the traceback: nobody can start the driver again with --debug.
    with_traceback = _DEBUG in words or words[:1] == ["drive"]
    return exit_code_of(lambda: _run(words, prog, signals.raising), with_traceback=with_traceback)


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
    """Let text that the terminal's encoding does not have be printed as escapes, instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def kubectl_plugin() -> int:
    """``kubectl-cfleet``, which kubectl runs for ``kubectl cfleet``."""
    return main(prog=_PLUGIN)


def complete_kubectl_plugin() -> int:
    """``kubectl_complete-cfleet``, which kubectl asks what may stand in the place of the last argument."""
    signals.end_at_once()
    if not is_installed("argcomplete"):
        print(_NO_FILES)
        return 0
    import argcomplete

    from collectorfleet.cli.parser import parser

    *before, last = ["cfleet", *(sys.argv[1:] or [""])]
    line = f"{shlex.join(before)} {last}"
    os.environ |= {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    found = io.StringIO()

    def done(_code: int) -> None:
        raise SystemExit

    with suppress(SystemExit):
        argcomplete.autocomplete(parser(_PLUGIN), always_complete_options=False, exit_method=done, output_stream=found)
    print(found.getvalue(), _NO_FILES, sep="\n")
    return 0
