"""``collectorfleet stop NAME`` and ``collectorfleet resume NAME``"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from collectorfleet.cli import cluster

if TYPE_CHECKING:
    from collectorfleet.client import Fleets


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stop = commands.add_parser(
        "stop",
        help="suspend a fleet on a cluster",
        description="Suspend a fleet: a checkpoint where it has one, then no pods. Its status stays.",
    )
    cluster.add_options(stop)
    stop.set_defaults(command=lambda options: cluster.with_fleets(options, lambda fleets: _stop(fleets, options.name)))
    resume = commands.add_parser("resume", help="resume a fleet that was stopped")
    cluster.add_options(resume)
    resume.set_defaults(
        command=lambda options: cluster.with_fleets(options, lambda fleets: _resume(fleets, options.name))
    )


def _stop(fleets: Fleets, name: str) -> int:
    fleets.stop(name)
    print(f"fleet {name} is being suspended; `status {name}` says how far it is")
    return 0


def _resume(fleets: Fleets, name: str) -> int:
    fleets.resume(name)
    print(f"fleet {name} goes on; `status {name}` says how far it is")
    return 0
