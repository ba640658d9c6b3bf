"""``collectorfleet report RUN``"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from collectorfleet.cli import cluster
from collectorfleet.cli.completion import complete_names
from collectorfleet.errors import CollectorFleetError, InvalidOption

if TYPE_CHECKING:
    from collectorfleet.client import Fleets
    from collectorfleet.timeline.timeline import Timeline


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser(
        "report",
        help="make a page about a run",
        description=(
            "Write one page of HTML without references to other files: rewards, throughput, staleness, versions, the "
            "life of each collector, and losses. RUN is a fleet on a cluster, or the folder of a run's checkpoints."
        ),
    )
    cluster.add_options(report, name=False)
    complete_names(
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
    from collectorfleet.timeline import files
    from collectorfleet.timeline.videos import FOLDER

    file = folder / files.NAME
    try:
        timeline = files.read(file)
    except ValueError as error:
        raise InvalidOption(str(error)) from error
    if timeline is None:
        raise InvalidOption(f"{file} is not there: RUN is the folder of a run with --checkpoint")
    return _write(timeline, out, videos=folder / FOLDER)


def _of_fleet(fleets: Fleets, name: str, out: Path) -> int:
    from collectorfleet.display.summary import in_a_sentence

    fleet, timeline = fleets.get(name), fleets.timeline(name)
    if timeline is None:
        raise CollectorFleetError(f"fleet {name}: its driver wrote nothing yet; `status {name}` says how it is")
    return _write(timeline, out, in_a_sentence(fleet))


def _write(timeline: Timeline, out: Path, state: str = "", videos: Path | None = None) -> int:
    from collectorfleet.display.report.files import write_page

    try:
        write_page(out, state, videos)(timeline)
    except OSError as error:  # names a file that is moved to ``out`` once it is whole
        raise InvalidOption(f"{out}: {error.strerror}") from error
    print(out)
    return 0
