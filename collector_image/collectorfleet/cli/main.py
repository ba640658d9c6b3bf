"""The entry points: ``collectorfleet``, ``kubectl cfleet`` and what completes the latter."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Sequence
from typing import Final

from collectorfleet.cli.extras import EXIT_NOT_INSTALLED, NotInstalled, is_installed
from collectorfleet.cli.parser import parser

_PLUGIN: Final = "kubectl cfleet"
# To kubectl: complete with these alone, and no file names.
_NO_FILES: Final = ":4"


def main(arguments: Sequence[str] | None = None, *, prog: str = "collectorfleet") -> int:
    """Run one command; returns the exit code."""
    made = parser(prog)
    if "_ARGCOMPLETE" in os.environ and is_installed("argcomplete"):
        import argcomplete

        argcomplete.autocomplete(made, always_complete_options=False)
    options = made.parse_args(arguments)
    try:
        code: int = options.command(options)
    except NotInstalled as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_NOT_INSTALLED
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # a reader that went away; Python would flush once more, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def kubectl_plugin() -> int:
    """``kubectl-cfleet``, which kubectl runs for ``kubectl cfleet``."""
    return main(prog=_PLUGIN)


def complete_kubectl_plugin() -> int:
    """``kubectl_complete-cfleet``, which kubectl asks what may stand in the place of the last argument."""
    if not is_installed("argcomplete"):
        print(_NO_FILES)
        return 0
    import argcomplete

    *before, last = ["cfleet", *(sys.argv[1:] or [""])]
    line = f"{shlex.join(before)} {last}"
    os.environ |= {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    found = io.StringIO()

    def done(_code: int) -> None:
        raise SystemExit

    with contextlib.suppress(SystemExit):
        argcomplete.autocomplete(parser(_PLUGIN), always_complete_options=False, exit_method=done, output_stream=found)
    print(found.getvalue(), _NO_FILES, sep="\n")
    return 0
