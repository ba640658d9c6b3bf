"""The parser of the command line, with all commands."""

from __future__ import annotations

import argparse

from collectorfleet.cli import (
    collect,
    drive,
    export,
    init,
    logs,
    render,
    report,
    run,
    status,
    submit,
    suspend,
    top,
    validate,
)
from collectorfleet.cli.commands import Commands
from collectorfleet.cli.exit_codes import MEANINGS
from collectorfleet.cli.version import PrintVersion


def parser(prog: str = "collectorfleet") -> argparse.ArgumentParser:
    """Return the parser. The options that it parses have the attributes ``command``, ``prog`` and ``usage_error``.

    ``command`` is a function. It takes the options, and returns the exit code. :class:`Commands` sets ``prog`` and
    ``usage_error``.
    """
    made = argparse.ArgumentParser(
        prog=prog,
        description="Fleets of reinforcement-learning data collectors on Ray and Kubernetes.",
        epilog="\n".join(["exit codes:", *(f"  {code:<4}{meaning}" for code, meaning in MEANINGS.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action=PrintVersion, help="print the version and exit")
    commands = made.add_subparsers(required=True, metavar="COMMAND", action=Commands)
    for command in (init, run, report, export, submit, validate, render, status, top, logs, suspend, drive, collect):
        command.add_to(commands)
    for made_command in commands.choices.values():
        made_command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return made
