"""``collectorfleet top [NAME]``"""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from collectorfleet.cli import cluster
from collectorfleet.cli.extras import TOP

if TYPE_CHECKING:
    from collectorfleet.client import Fleets

EVERY_SECONDS: Final = 2.0  # as often as a driver reports


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    top = commands.add_parser(
        "top",
        help="watch a fleet on a cluster, or all of a namespace",
        description="Frames, weights and collectors of a fleet, or a line for each fleet; redrawn until Ctrl-C, or "
        "until the fleet has ended.",
    )
    cluster.add_options(top, name=False)
    cluster.complete_names(
        top.add_argument("name", metavar="NAME", nargs="?", help="name of the fleet; default: all of the namespace")
    )
    top.add_argument("--once", action="store_true", help="print it once, without a terminal")
    top.set_defaults(command=lambda options: cluster.with_fleets(options, lambda fleets: _top(fleets, options)))


def _top(fleets: Fleets, options: argparse.Namespace) -> int:
    TOP.require(options.prog)
    from rich.console import RenderableType
    from rich.live import Live
    from rich.text import Text

    from collectorfleet.display import summary
    from collectorfleet.display.console import console

    def shown() -> tuple[RenderableType, bool]:
        now = datetime.now(UTC)
        if options.name is None:
            return Text("\n".join(summary.overview(fleets.list(), now))), False
        fleet = fleets.get(options.name)
        return Text("\n".join(summary.lines(fleet, (), now))), summary.has_ended(fleet)

    drawn_on = console()
    if options.once or not drawn_on.is_terminal:
        print(shown()[0])
        return 0
    drawn, ended = shown()
    live = Live(drawn, console=drawn_on, auto_refresh=False)
    try:
        # Not `with live`: Ctrl-C while it starts would leave the cursor hidden.
        live.start(refresh=True)
        while not ended:
            time.sleep(EVERY_SECONDS)
            drawn, ended = shown()
            live.update(drawn, refresh=True)
    finally:
        live.stop()
    return 0
