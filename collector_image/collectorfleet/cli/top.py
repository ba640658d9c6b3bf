"""``collectorfleet top [NAME]``: watch a fleet or all fleets of a namespace in the terminal."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from collectorfleet.cli import cluster
from collectorfleet.cli.extras import TOP, require

if TYPE_CHECKING:
    from collectorfleet.client import Fleets

EVERY_SECONDS: Final = 2.0  # a driver reports at this interval


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    top = commands.add_parser(
        "top",
        help="watch a fleet on a cluster, or all fleets of a namespace",
        description=(
            "Show frames, weights and collectors of a fleet, or a line for each fleet. The display is updated until "
            "Ctrl-C, or until the fleet has ended."
        ),
    )
    cluster.add_selection(top)
    top.add_argument("--once", action="store_true", help="print the display once; needs no terminal")
    top.set_defaults(command=_command)


def _command(options: argparse.Namespace) -> int:
    cluster.check_selection(options)
    return cluster.with_fleets(options, lambda fleets: _top(fleets, options))


def _top(fleets: Fleets, options: argparse.Namespace) -> int:
    require(TOP, options.prog)
    from rich.live import Live
    from rich.text import Text

    from collectorfleet.display.console import console

    drawn_on = console()
    lines, ended = _shown(fleets, options)
    if not lines:
        cluster.print_none_found(fleets, options)
        return 0
    if options.once or not drawn_on.is_terminal:
        print("\n".join(lines))
        return 0
    live = Live(Text("\n".join(lines)), console=drawn_on, auto_refresh=False)
    try:
        # If Ctrl-C interrupted the start, `with live` would leave the cursor hidden.
        live.start(refresh=True)
        while not ended:
            time.sleep(EVERY_SECONDS)
            lines, ended = _shown(fleets, options)
            live.update(Text("\n".join(lines)), refresh=True)
    finally:
        live.stop()
    return 0


def _shown(fleets: Fleets, options: argparse.Namespace) -> tuple[list[str], bool]:
    """Return the lines to draw, and whether the named fleet has ended. If no fleet exists, there are no lines."""
    from collectorfleet.display import summary
    from collectorfleet.display.overview import Overview

    now = datetime.now(UTC)
    if options.name is None:
        found = fleets.list(selector=options.selector, all_namespaces=options.all_namespaces)
        return Overview(namespaces=options.all_namespaces).lines([(one, False) for one in found], now), False
    fleet = fleets.get(options.name)
    return summary.lines(fleet, (), now), summary.has_ended(fleet)
