"""``collectorfleet report RUN``"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from collectorfleet.cli import cluster
from collectorfleet_api.names import EXIT_USER_ERROR

if TYPE_CHECKING:
    from collectorfleet.client import Fleets


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser(
        "report",
        help="make a page of how a run went",
        description="One page of HTML, which needs nothing else: rewards, throughput, staleness, versions, the life of "
        "each collector, and what was lost. RUN is a fleet on a cluster, or the folder of a run's checkpoints.",
    )
    cluster.add_options(report, name=False)
    cluster.complete_names(
        report.add_argument(
            "run", metavar="RUN", help="name of a fleet, or the folder of `collectorfleet run --checkpoint`"
        )
    )
    report.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="default: RUN-report.html, or report.html in the folder"
    )
    report.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    from collectorfleet.timeline import files

    folder = Path(options.run)
    # No fleet has a slash in its name.
    if "/" in options.run or (folder / files.NAME).exists():
        return _of_folder(folder, options.output or folder / "report.html")
    file = options.output or Path(f"{options.run}-report.html")
    return cluster.with_fleets(options, lambda fleets: _of_fleet(fleets, options.run, file))


def _of_folder(folder: Path, out: Path) -> int:
    from collectorfleet.display.report.files import write_page
    from collectorfleet.timeline import files

    file = folder / files.NAME
    try:
        timeline = files.read(file)
        if timeline is None:
            return _error(f"{file} is not there: RUN is the folder of a run with --checkpoint", EXIT_USER_ERROR)
        write_page(out)(timeline)
    except (OSError, ValueError) as error:
        return _error(str(error), EXIT_USER_ERROR)
    print(out)
    return 0


def _of_fleet(fleets: Fleets, name: str, out: Path) -> int:
    from collectorfleet.display.report.files import write_page
    from collectorfleet.display.summary import in_a_sentence

    fleet, timeline = fleets.get(name), fleets.timeline(name)
    if timeline is None:
        return _error(f"fleet {name}: its driver wrote nothing yet; `status {name}` says how it is", 1)
    try:
        write_page(out, in_a_sentence(fleet))(timeline)
    except OSError as error:
        return _error(f"{out}: {error.strerror}", EXIT_USER_ERROR)
    print(out)
    return 0


def _error(text: str, code: int) -> int:
    print(f"error: {text}", file=sys.stderr)
    return code
