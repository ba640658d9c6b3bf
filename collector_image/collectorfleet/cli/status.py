"""``collectorfleet status [NAME]``: print the state of a fleet, or one line per fleet."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from collectorfleet.cli import cluster, output
from collectorfleet.cli.printing import print_line, print_problem
from collectorfleet.cli.release import difference
from collectorfleet.display.plain import plain

if TYPE_CHECKING:
    from collectorfleet.client import Change, Fleets
    from collectorfleet_api.v1alpha1 import CollectorFleet


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    status = commands.add_parser(
        "status",
        help="show the state of a fleet on a cluster, and why the fleet is not Ready",
        description=(
            "Show a summary of a fleet, its collectors and its last Events. Without NAME, show a line for each fleet."
        ),
    )
    cluster.add_selection(status)
    status.add_argument(
        "-o",
        "--output",
        choices=output.FORMATS,
        help="json or yaml for programs, name for the names alone, or wide for more columns and rows",
    )
    status.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help="print a line for each fleet, and then a line for each change, until Ctrl-C",
    )
    status.set_defaults(command=_command)


def _command(options: argparse.Namespace) -> int:
    cluster.check_selection(options)
    return cluster.with_fleets(options, lambda fleets: _status(fleets, options))


def _status(fleets: Fleets, options: argparse.Namespace) -> int:
    if options.watch:
        return _watch(fleets, options)
    shown = _list(fleets, options) if options.name is None else [_one(fleets, options)]
    images = {_full_name(fleet, options): fleet.spec.image for fleet in shown}
    if note := difference(fleets.releases(), images):
        print_problem(note)
    return 0


def _full_name(fleet: CollectorFleet, options: argparse.Namespace) -> str:
    # Fleets of different namespaces may have the same name.
    name = fleet.metadata.name
    return f"{fleet.metadata.namespace}/{name}" if options.all_namespaces else name


def _one(fleets: Fleets, options: argparse.Namespace) -> CollectorFleet:
    """Print a fleet, and return it."""
    from collectorfleet.client.events import event_rows
    from collectorfleet.display import summary

    fleet = fleets.get(options.name)
    if options.output == output.NAME:
        print_line(output.name_of(fleet))
        return fleet
    events = event_rows(fleets.events(options.name))
    if options.output in output.DATA:
        print(output.document(summary.data(fleet, events), options.output))
    else:
        rows = {"most_rows": None} if options.output == output.WIDE else {}
        print("\n".join(summary.lines(fleet, events, datetime.now(UTC), **rows)))
    return fleet


def _list(fleets: Fleets, options: argparse.Namespace) -> Sequence[CollectorFleet]:
    """Print a line for each fleet, and return the fleets."""
    from collectorfleet.client import Change
    from collectorfleet.display import summary

    found = fleets.list(selector=options.selector, all_namespaces=options.all_namespaces)
    if options.output in output.DATA:
        print(output.document({"items": [summary.data(fleet) for fleet in found]}, options.output))
    elif not found:
        cluster.print_none_found(fleets, options)
    else:
        _Printed(options).add([Change(fleet) for fleet in found])
    return found


def _watch(fleets: Fleets, options: argparse.Namespace) -> int:
    printed = _Printed(options)
    news = fleets.watch(options.name, selector=options.selector, all_namespaces=options.all_namespaces)
    first = next(news, ())
    if not first:
        cluster.print_none_found(fleets, options)
    for changes in itertools.chain([first], news):
        printed.add(changes)
    return 0


class _Printed:
    """A printer of fleets on stdout, in the format that the options name."""

    def __init__(self, options: argparse.Namespace) -> None:
        from collectorfleet.display.overview import Overview

        self._format = options.output
        self._overview = Overview(namespaces=options.all_namespaces, wide=options.output == output.WIDE)

    def add(self, changes: Sequence[Change]) -> None:
        """Print the changed fleets and flush, because the reader of a pipe may wait for the output."""
        if lines := self._lines(changes):
            print("\n".join(lines), flush=True)

    def _lines(self, changes: Sequence[Change]) -> list[str]:
        from collectorfleet.display import summary

        if self._format == output.NAME:
            return [plain(output.name_of(change.fleet)) for change in changes]
        if self._format in output.DATA:
            return [
                output.document(summary.data(change.fleet), self._format, is_one_of_many=True) for change in changes
            ]
        return self._overview.lines([(change.fleet, change.is_deleted) for change in changes], datetime.now(UTC))
