"""``collectorfleet logs NAME``: print the log of a fleet's driver and collectors."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from collectorfleet.cli import cluster
from collectorfleet.cli.printing import print_problem
from collectorfleet.display.plain import plain, plain_with_colors

if TYPE_CHECKING:
    from collectorfleet.client import Fleets

_MOST_SOURCES: Final = 10  # in a note


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    logs = commands.add_parser(
        "logs",
        help="show the output of a fleet's driver and collectors",
        description=(
            "Show the log of the driver's pod, which also has the output of the collectors. Each line begins with the "
            "name of its source."
        ),
    )
    cluster.add_options(logs)
    logs.add_argument("-f", "--follow", action="store_true", help="follow the log until the driver ends")
    logs.add_argument("--since", metavar="SECONDS", type=_seconds, help="only lines of the last SECONDS")
    logs.add_argument("--of", metavar="WHO", help="only lines of this source: driver, or a collector such as c0")
    logs.set_defaults(command=lambda options: cluster.with_fleets(options, lambda fleets: _logs(fleets, options)))


def _logs(fleets: Fleets, options: argparse.Namespace) -> int:
    # A file or a program gets the text unchanged.
    shown = plain_with_colors if sys.stdout is not None and sys.stdout.isatty() else str
    others: set[str] = set()
    is_found, is_empty = options.of is None, True
    for line in fleets.logs(options.name, follow=options.follow, since_seconds=options.since):
        is_empty = False
        if options.of not in (None, line.source):
            if len(others) <= _MOST_SOURCES:  # the text of a log may have any number of them
                others.add(line.source)
        else:
            is_found = True
            before = "" if options.of else f"{plain(line.source):<6} | "
            print(f"{before}{shown(line.text)}", flush=options.follow)
    if is_empty and options.since is None:
        _print_why_empty(fleets, options.name)
    if not is_found and others:
        names = sorted(others)
        more = " and others" if len(names) > _MOST_SOURCES else ""
        print_problem(
            f"note: no line is from {options.of}; the lines are from {', '.join(names[:_MOST_SOURCES])}{more}"
        )
    return 0


def _print_why_empty(fleets: Fleets, name: str) -> None:
    from collectorfleet.client.conditions import describe_readiness

    fleet = fleets.get(name)
    pod = fleet.status.driver.pod if fleet.status and fleet.status.driver else None
    print_problem(f"note: driver pod {pod} of fleet {name} has printed nothing: {describe_readiness(fleet)}")


def _seconds(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
