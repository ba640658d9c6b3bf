"""``collectorfleet run FILE``: run a fleet on this machine with a local Ray."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TextIO

from collectorfleet.cli import arguments, manifests
from collectorfleet.cli.extras import RUNTIME, require
from collectorfleet.cli.printing import print_problem
from collectorfleet_api.manifests.files import Manifests
from collectorfleet_api.names import EXIT_USER_ERROR
from collectorfleet_api.v1alpha1 import CollectorFleet


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run",
        help="run a fleet on this machine, without Kubernetes",
        description=(
            "Run the fleet of a manifest on a local Ray, with the same driver as on Kubernetes. Ctrl-C ends the run; a "
            "second Ctrl-C ends the run at once."
        ),
    )
    run.add_argument(
        "file",
        metavar="FILE",
        type=arguments.name,
        help="manifests, or a folder with fleet.yaml; '-' is standard input",
    )
    run.add_argument("--fleet", metavar="NAME", help="name of the fleet to run, if the file has several")
    run.add_argument(
        "-o", "--output", choices=["json"], help="print the final status on stdout, and everything else on stderr"
    )
    run.add_argument("--checkpoint", type=arguments.path, metavar="DIR", help="keep checkpoints in DIR")
    run.add_argument("--resume", action="store_true", help="resume from the checkpoints in the DIR of --checkpoint")
    run.add_argument(
        "--report", type=arguments.path, metavar="FILE", help=("write a report of the run into FILE, a page of HTML")
    )
    run.add_argument("--metrics-port", type=_port, metavar="N", help="serve Prometheus metrics on 127.0.0.1:N/metrics")
    run.add_argument("-v", "--verbose", action="store_true", help="show logs, tracebacks and the output of collectors")
    run.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    if options.resume and options.checkpoint is None:
        options.usage_error("--resume needs --checkpoint DIR; give the folder of the run to resume")
    require(RUNTIME, options.prog)
    out: TextIO = sys.stdout
    status_out: TextIO | None = None
    if options.output == "json":
        out, status_out = sys.stderr, _stdout_for_the_status_alone()
    found = manifests.read(options.file)
    fleet = _the_fleet(found, options) if found else None
    if found is None or fleet is None:
        return EXIT_USER_ERROR

    from collectorfleet.local.run import RunOptions, run
    from collectorfleet.local.terminal import Terminal

    run_options = RunOptions(status_out, options.metrics_port, options.checkpoint, options.resume, options.report)
    terminal = Terminal(out, sys.stderr, options.verbose)
    return run(fleet, found, manifests.path_of(options.file), run_options, terminal)


def _the_fleet(found: Manifests, options: argparse.Namespace) -> CollectorFleet | None:
    """Print the findings about the manifests on stderr, and return the fleet to run.

    Return None if a manifest has an error. If the options match no fleet or several fleets, print the reason and return
    None.
    """
    manifests.print_findings(found, options.file)
    if found.errors:
        return None
    fleets = [fleet for fleet in found.fleets if options.fleet in (None, fleet.metadata.name)]
    if len(fleets) == 1:
        return fleets[0]
    names = ", ".join(fleet.metadata.name for fleet in found.fleets)
    if not found.fleets:
        problem = manifests.without_fleet(found)
    elif fleets:
        problem = f"the file has {len(fleets)} fleets; choose one with --fleet: {names}"
    else:
        problem = f"the file has no fleet {options.fleet}; it has {names}"
    print_problem(f"error: {options.file}: {problem}")
    return None


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; write a number from 1 to 65535")
    return int(text)


def _stdout_for_the_status_alone() -> TextIO:
    """Return a stream to stdout for the status, and redirect all other output of the process to stderr.

    The redirection prevents Ray and the user's code from writing to stdout.
    """
    status_out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return status_out
