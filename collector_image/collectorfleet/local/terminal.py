"""Show the progress and the end of a local run on a terminal or through a pipe."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from collectorfleet.display.console import console
from collectorfleet.display.lines import ProgressLines
from collectorfleet.display.live import LiveTable
from collectorfleet.display.plain import plain
from collectorfleet.run.exit import Broken, Completed, Exit, Stopped, UserError
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import CheckpointStatus, DriverReport

log = logging.getLogger(__name__)

LINES_EVERY_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Terminal:
    """The output of a local run.

    Progress and end are written to ``out``, and the cause of a failure to ``errors``. With ``verbose``, the log is also
    written to ``errors``.
    """

    out: TextIO
    errors: TextIO
    verbose: bool = False

    def say(self, line: str) -> None:
        _print(line, self.out)

    def progress(self, fleet: str, report: Callable[[], DriverReport]) -> AbstractContextManager[object]:
        """Show ``report`` inside the ``with`` block: as a live table on a terminal, otherwise as lines."""
        drawn_on = console(self.out)
        # With verbose, log lines would break the table.
        if drawn_on.is_terminal and not self.verbose:
            return LiveTable(fleet, report, drawn_on)
        return ProgressLines(report, self.say, every_seconds=LINES_EVERY_SECONDS)

    def say_unwritten(self, checkpoint: CheckpointStatus | None) -> None:
        """Warn if the last checkpoint could not be written, and name the point from which the run can resume."""
        if checkpoint is None or checkpoint.failure is None:
            return
        frames = counted(checkpoint.frames, "frame", by_thousands=True)
        resume = f"a resume starts from the checkpoint at {frames}"
        newest = resume if checkpoint.frames else "there is no earlier checkpoint"
        _print(f"warning: the last checkpoint could not be written: {checkpoint.failure}; {newest}", self.errors)

    def say_exit(self, ended: Exit, log_file: Path) -> None:
        """Show how the run ended. If a failure has a traceback, write it to the log, and show the path of the log."""
        match ended:
            case Completed(message):
                self.say(f"completed: {message}")
            case Stopped(message):
                self.say(message)
            case UserError(message, traceback) | Broken(message, traceback):
                log.error("failed: %s\n%s", message, traceback)
                _print(f"error: {message}", self.errors)
                if traceback:
                    _print(f"The traceback is in {log_file}.", self.errors)


def _print(line: str, stream: TextIO) -> None:
    # A closed terminal, a closed pipe (for example `| head`) or a full volume must not end the run.
    with suppress(OSError):
        print(plain(line), file=stream, flush=True)
