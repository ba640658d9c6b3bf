"""``collectorfleet logs NAME``: print the log of a fleet's driver and collectors."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from collectorfleet.cli import cluster

if TYPE_CHECKING:
    from collectorfleet.client import Fleets


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    logs = commands.add_parser(
        "logs",
        help="what the driver and the collectors of a fleet print",
        description="The log of the driver's pod, which has what collectors print, too; each line begins with whose "
        "it is.",
    )
    cluster.add_options(logs)
    logs.add_argument("-f", "--follow", action="store_true", help="follow the log until the driver ends")
    logs.add_argument("--since", metavar="SECONDS", type=int, help="of the last SECONDS only")
    logs.add_argument("--of", metavar="WHO", help="driver, or a collector such as c0")
    logs.set_defaults(command=lambda options: cluster.with_fleets(options, lambda fleets: _logs(fleets, options)))


def _logs(fleets: Fleets, options: argparse.Namespace) -> int:
    for line in fleets.logs(options.name, follow=options.follow, since_seconds=options.since):
        if options.of in (None, line.source):
            print(line.text if options.of else f"{line.source:<6} | {line.text}", flush=options.follow)
    return 0
