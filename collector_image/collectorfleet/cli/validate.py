"""``collectorfleet validate FILE...``: check manifests without a cluster."""

from __future__ import annotations

import argparse

from collectorfleet.cli import arguments, manifests
from collectorfleet.cli.printing import print_line
from collectorfleet_api.manifests.files import Manifests
from collectorfleet_api.names import EXIT_USER_ERROR


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    validate = commands.add_parser(
        "validate",
        help="check manifests offline",
        description="Check fleets by the rules of the API server and the operator. The command needs no cluster.",
    )
    validate.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=arguments.name,
        help="manifests, or a folder with fleet.yaml; '-' is standard input",
    )
    validate.set_defaults(command=_validate)


def _validate(options: argparse.Namespace) -> int:
    found = {file: manifests.read(file) for file in dict.fromkeys(options.files)}
    for file, one in found.items():
        if one is not None:
            _show(file, one)
    readable = [one for one in found.values() if one is not None]
    if len(readable) < len(found) or any(one.errors for one in readable):
        return EXIT_USER_ERROR
    return 0 if any(one.fleets for one in readable) else EXIT_USER_ERROR


def _show(file: str, found: Manifests) -> None:
    """Print the findings and the valid fleets of a manifest, or a message that the manifest has no fleet."""
    manifests.print_findings(found, file, print_line)
    path = manifests.path_of(file)
    for fleet in found.fleets:
        print_line(f"{path}: fleet {fleet.metadata.name} is valid")
    if not found.fleets and not found.errors:
        print_line(f"{path}: {manifests.without_fleet(found)}")
