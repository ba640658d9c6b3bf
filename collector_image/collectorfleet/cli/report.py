"""``collectorfleet report RUN``"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from collectorfleet_api.names import EXIT_USER_ERROR


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser(
        "report",
        help="make a page of how a run went",
        description="One page of HTML, which needs nothing else: rewards, throughput, staleness, versions, the life of "
        "each collector, and what was lost. RUN is the folder of its checkpoints.",
    )
    report.add_argument("run", metavar="RUN", type=Path, help="the folder of `collectorfleet run --checkpoint`")
    report.add_argument("-o", "--output", metavar="FILE", type=Path, help="default: report.html in RUN")
    report.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    from collectorfleet.display.report.files import write_page
    from collectorfleet.timeline import files

    file = options.run / files.NAME
    try:
        timeline = files.read(file)
        if timeline is None:
            print(f"error: {file} is not there: RUN is the folder of a run with --checkpoint", file=sys.stderr)
            return EXIT_USER_ERROR
        out = options.output or options.run / "report.html"
        write_page(out)(timeline)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USER_ERROR
    print(out)
    return 0
