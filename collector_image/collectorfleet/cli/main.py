"""The command line: ``collectorfleet run``, ``validate``, and ``drive`` in the driver pod.

Torch and Ray are imported by the commands that need them: ``--help`` and ``validate`` answer at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from collectorfleet_api.manifests.files import Manifests, load_file, load_manifests
from collectorfleet_api.names import EXIT_INFRASTRUCTURE, EXIT_USER_ERROR
from collectorfleet_api.v1alpha1 import CollectorFleet

STDIN = "-"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    code: int = options.command(options)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # a reader that went away; Python would flush once more, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="collectorfleet", description="Fleets of reinforcement-learning data collectors on Ray and Kubernetes."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser(
        "run",
        help="run a fleet on this machine, without Kubernetes",
        description="Run the fleet of a manifest on a local Ray, with the driver that runs on Kubernetes. "
        "Ctrl-C ends it; a second one at once.",
        epilog="exit codes: 0 completed, 64 the manifest or the user's code is wrong, 130 Ctrl-C, 1 anything else",
    )
    run.add_argument("file", metavar="FILE", help="manifests; '-' is standard input")
    run.add_argument("--fleet", metavar="NAME", help="which fleet, where the file has several")
    run.add_argument(
        "-o", "--output", choices=["json"], help="print the final status on stdout, everything else on stderr"
    )
    run.add_argument("--checkpoint", type=Path, metavar="DIR", help="keep checkpoints in DIR")
    run.add_argument("--resume", action="store_true", help="go on from what is in the DIR of --checkpoint")
    run.add_argument("--metrics-port", type=_port, metavar="N", help="serve Prometheus metrics on 127.0.0.1:N/metrics")
    run.add_argument("-v", "--verbose", action="store_true", help="show logs, tracebacks and what collectors print")
    run.set_defaults(command=_run)

    validate = commands.add_parser(
        "validate",
        help="check manifests offline",
        description="Check fleets as the API server and the operator would, without either.",
        epilog="exit codes: 0 no errors, 1 errors",
    )
    validate.add_argument("files", metavar="FILE", nargs="+", help="manifests; '-' is standard input")
    validate.set_defaults(command=_validate)

    drive = commands.add_parser("drive", help="what the driver pod runs; started by the operator")
    drive.set_defaults(command=_drive)
    return parser


def _validate(options: argparse.Namespace) -> int:
    failed = False
    for file in options.files:
        manifests = _load(file)
        if manifests is None:
            failed = True
            continue
        for finding in manifests.findings:
            print(finding)
        for fleet in manifests.fleets:
            print(f"{file}: fleet {fleet.metadata.name} is valid")
        if not manifests.findings and not manifests.fleets:
            print(f"{file}: no CollectorFleet in it")
        failed = failed or bool(manifests.errors)
    return 1 if failed else 0


def _run(options: argparse.Namespace) -> int:
    if options.resume and options.checkpoint is None:
        print("error: --resume: name the folder to go on from with --checkpoint DIR", file=sys.stderr)
        return EXIT_USER_ERROR
    out: TextIO = sys.stdout
    status_out: TextIO | None = None
    if options.output == "json":
        out, status_out = sys.stderr, _stdout_for_the_status_alone()
    manifests = _load(options.file)
    if manifests is None:
        return EXIT_USER_ERROR
    for finding in manifests.findings:
        print(finding, file=sys.stderr)
    fleet = None if manifests.errors else _choose(manifests, options.fleet, options.file)
    if fleet is None:
        return EXIT_USER_ERROR

    from collectorfleet.local.run import RunOptions, run

    source = Path("stdin") if options.file == STDIN else Path(options.file)
    run_options = RunOptions(
        out, sys.stderr, status_out, options.verbose, options.metrics_port, options.checkpoint, options.resume
    )
    return run(fleet, manifests, source, run_options)


def _drive(_options: argparse.Namespace) -> int:
    from collectorfleet.logs import log_to_stream
    from collectorfleet.pod.drive import drive
    from collectorfleet.pod.settings import DriverSettings, MissingSetting

    log_to_stream(sys.stderr)
    try:
        settings = DriverSettings.from_env(os.environ)
    except MissingSetting as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_INFRASTRUCTURE
    code = drive(settings)
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is written. A thread that the user's code left behind must not keep the pod, and with it the Job.
    os._exit(code)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; write a number from 1 to 65535")
    return int(text)


def _choose(manifests: Manifests, name: str | None, file: str) -> CollectorFleet | None:
    fleets = [fleet for fleet in manifests.fleets if name is None or fleet.metadata.name == name]
    if len(fleets) == 1:
        return fleets[0]
    names = ", ".join(fleet.metadata.name for fleet in manifests.fleets)
    if not manifests.fleets:
        problem = "no CollectorFleet in it"
    elif fleets:
        problem = f"{len(fleets)} fleets in it; choose one with --fleet: {names}"
    else:
        problem = f"no fleet {name} in it; it has {names}"
    print(f"error: {file}: {problem}", file=sys.stderr)
    return None


def _load(file: str) -> Manifests | None:
    try:
        return load_manifests(sys.stdin.read()) if file == STDIN else load_file(Path(file))
    except OSError as error:
        print(f"error: {file}: {error.strerror}", file=sys.stderr)
        return None


def _stdout_for_the_status_alone() -> TextIO:
    """A stream to stdout that nobody else has: from here on, what Ray and the user's code print goes to stderr."""
    status_out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return status_out
