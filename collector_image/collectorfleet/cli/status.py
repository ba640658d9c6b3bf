"""``collectorfleet status NAME``"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from collectorfleet.cli import cluster
from collectorfleet.cli.release import difference

if TYPE_CHECKING:
    from collectorfleet.client import Fleets


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    status = commands.add_parser(
        "status",
        help="how a fleet on a cluster is doing, and why it is not Ready",
        description="The summary of a fleet, its collectors and its last Events.",
    )
    cluster.add_options(status)
    status.add_argument("-o", "--output", choices=["json"], help="for programs")
    status.set_defaults(command=lambda options: cluster.with_fleets(options, lambda fleets: _status(fleets, options)))


def _status(fleets: Fleets, options: argparse.Namespace) -> int:
    from collectorfleet.client.events import happened
    from collectorfleet.display import summary

    fleet = fleets.get(options.name)
    events = happened(fleets.events(options.name))
    if options.output == "json":
        print(json.dumps(summary.data(fleet, events), indent=2))
    else:
        print("\n".join(summary.lines(fleet, events, datetime.now(UTC))))
    if note := difference(fleets.release()):
        print(note, file=sys.stderr)
    return 0
