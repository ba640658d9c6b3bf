"""``collectorfleet report RUN...``: write a page about a run, or a comparison of several runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from collectorfleet.cli import arguments, cluster
from collectorfleet.cli.completion import complete_names
from collectorfleet.cli.extras import COMPARE, require
from collectorfleet.cli.printing import print_path
from collectorfleet.cli.run_names import folder_of, if_folders_were_meant, is_folder
from collectorfleet.errors import (
    ClusterUnavailable,
    CollectorFleetError,
    FleetNotFound,
    InvalidKubeconfig,
    InvalidOption,
)
from collectorfleet.timeline import files
from collectorfleet.timeline.videos import FOLDER

if TYPE_CHECKING:
    from collectorfleet.client import Fleets
    from collectorfleet.display.comparison.runs import Run
    from collectorfleet.timeline.timeline import Timeline
    from collectorfleet_api.v1alpha1 import CollectorFleet


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser(
        "report",
        help="make a page about a run, or compare several runs",
        description=(
            "Write one page of HTML that needs no other file. For one RUN, the page shows rewards, throughput, "
            "staleness, versions, the life of each collector, and losses. For several RUNs, the page shows the mean "
            "and interquartile mean of their returns, with intervals. Runs that differ only in their seeds form a "
            "group. RUN is a fleet on a cluster, or the folder of a run's checkpoints."
        ),
    )
    cluster.add_options(report, name=False)
    complete_names(
        report.add_argument(
            "runs",
            metavar="RUN",
            nargs="+",
            type=arguments.name,
            help="name of a fleet, or the folder of `collectorfleet run --checkpoint`",
        )
    )
    report.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=arguments.path,
        help=(
            "default: RUN-report.html for a fleet, report.html in the folder of a run, or comparison.html for several "
            "runs"
        ),
    )
    report.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    if len(options.runs) > 1:
        return _compare(options)
    (run,) = options.runs
    if is_folder(run):
        folder = folder_of(run)
        return _write(_of_folder(folder), options.output or folder / "report.html", videos=folder / FOLDER)
    file = options.output or Path(f"{run}-report.html")

    def of_fleet(fleets: Fleets) -> int:
        from collectorfleet.display.summary import in_a_sentence

        fleet, timeline = _of_fleet(fleets, run, options)
        return _write(timeline, file, in_a_sentence(fleet))

    with if_folders_were_meant([run], InvalidKubeconfig, ClusterUnavailable):
        return cluster.with_fleets(options, of_fleet)


def _compare(options: argparse.Namespace) -> int:
    require(COMPARE, options.prog)
    if twice := _given_twice(options.runs):
        options.usage_error(f"{twice}: the run is given twice; name each run once")
    out = options.output or Path("comparison.html")
    # Read folders first, because a problem of a folder can be reported without a cluster.
    folders = {run: _run_of_folder(run) for run in options.runs if is_folder(run)}

    def write(others: dict[str, Run]) -> int:
        found = folders | others
        return _write_comparison([found[run] for run in options.runs], out)

    names = [run for run in options.runs if run not in folders]
    if not names:
        return write({})
    with if_folders_were_meant(names, InvalidKubeconfig, ClusterUnavailable):
        return cluster.with_fleets(
            options, lambda fleets: write({name: _run_of_fleet(fleets, name, options) for name in names})
        )


def _given_twice(runs: Sequence[str]) -> str | None:
    """Return a run that is among the runs before it, or None."""
    seen: set[str] = set()
    for run in runs:
        one = os.path.realpath(run) if is_folder(run) else run
        if one in seen:
            return run
        seen.add(one)
    return None


def _of_folder(folder: Path) -> Timeline:
    file = folder / files.NAME
    try:
        timeline = files.read(file)
    except OSError as error:
        raise InvalidOption(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise InvalidOption(str(error)) from error
    if timeline is None:
        raise InvalidOption(f"{file} does not exist; name the folder of `collectorfleet run --checkpoint`")
    return timeline


def _of_fleet(fleets: Fleets, name: str, options: argparse.Namespace) -> tuple[CollectorFleet, Timeline]:
    with if_folders_were_meant([name], FleetNotFound):
        fleet, timeline = fleets.get(name), fleets.timeline(name)
    if timeline is None:
        raise CollectorFleetError(
            f"fleet {name}: its driver has not reported yet; run `{cluster.command(options, 'status', name)}` to see "
            "its state"
        )
    return fleet, timeline


def _run_of_folder(run: str) -> Run:
    from collectorfleet.display.comparison.runs import Run

    timeline = _of_folder(folder_of(run))
    return Run(run, timeline, timeline.configuration)


def _run_of_fleet(fleets: Fleets, name: str, options: argparse.Namespace) -> Run:
    from collectorfleet.display.comparison.runs import Run
    from collectorfleet.display.summary import in_a_sentence
    from collectorfleet.timeline.configuration import configuration

    fleet, timeline = _of_fleet(fleets, name, options)
    # Prefer the driver's configuration, because the spec may be newer than the newest driver.
    return Run(name, timeline, timeline.configuration or configuration(fleet.spec), in_a_sentence(fleet))


def _write(timeline: Timeline, out: Path, state: str = "", videos: Path | None = None) -> int:
    from collectorfleet.display.report.files import write_page

    with _named(out):
        write_page(out, state, videos)(timeline)
    print_path(out)
    return 0


def _write_comparison(runs: Sequence[Run], out: Path) -> int:
    from collectorfleet.display.comparison.compared import Compared
    from collectorfleet.display.comparison.page import page
    from collectorfleet.display.report.files import write_whole

    document = page(Compared(runs))
    with _named(out):
        write_whole(out, document)
    print_path(out)
    return 0


@contextmanager
def _named(out: Path) -> Iterator[None]:
    """If the write fails, raise an OSError that names ``out``. The original OSError names a temporary file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(out)) from error
