"""What a person who starts a run reads of it, on a terminal or through a pipe."""

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
from collectorfleet_api.v1alpha1 import DriverReport

log = logging.getLogger(__name__)

LINES_EVERY_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Terminal:
    """``out`` gets progress and the end, ``errors`` the first cause; with ``verbose`` the log is shown as well."""

    out: TextIO
    errors: TextIO
    verbose: bool = False

    def say(self, line: str) -> None:
        _print(line, self.out)

    def progress(self, fleet: str, report: Callable[[], DriverReport]) -> AbstractContextManager[object]:
        """Show ``report`` inside the ``with`` block: as a table if the terminal can redraw it, else as lines."""
        drawn_on = console(self.out)
        # Log lines would tear the table apart.
        if drawn_on.is_terminal and not self.verbose:
            return LiveTable(fleet, report, drawn_on)
        return ProgressLines(report, self.say, every_seconds=LINES_EVERY_SECONDS)

    def say_exit(self, ended: Exit, log_file: Path) -> None:
        """How the run ended; the traceback goes into the log, and who needs it is told where that is."""
        match ended:
            case Completed(message):
                self.say(f"completed: {message}")
            case Stopped(message):
                self.say(message)
            case UserError(message, traceback) | Broken(message, traceback):
                log.error("failed: %s\n%s", message, traceback)
                _print(f"error: {message}", self.errors)
                _print(f"The traceback is in {log_file}.", self.errors)


def _print(line: str, stream: TextIO) -> None:
    # A reader that went away, as of `| head`, does not end a run.
    with suppress(BrokenPipeError):
        print(plain(line), file=stream, flush=True)
