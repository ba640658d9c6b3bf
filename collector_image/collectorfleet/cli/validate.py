"""``collectorfleet validate FILE...``"""

from __future__ import annotations

import argparse

from collectorfleet.cli import manifests


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    validate = commands.add_parser(
        "validate",
        help="check manifests offline",
        description="Check fleets as the API server and the operator would, without either.",
        epilog="exit codes: 0 no errors, 1 errors",
    )
    validate.add_argument("files", metavar="FILE", nargs="+", help="manifests; '-' is standard input")
    validate.set_defaults(command=_validate)


def _validate(options: argparse.Namespace) -> int:
    valid = [_is_valid(file) for file in options.files]
    return 0 if all(valid) else 1


def _is_valid(file: str) -> bool:
    """Print all that is to be said of a file."""
    found = manifests.read(file)
    if found is None:
        return False
    for finding in found.findings:
        print(finding)
    for fleet in found.fleets:
        print(f"{file}: fleet {fleet.metadata.name} is valid")
    if not found.findings and not found.fleets:
        print(f"{file}: no CollectorFleet in it")
    return not found.errors
