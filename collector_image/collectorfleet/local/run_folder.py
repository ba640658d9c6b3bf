"""Manage the temporary folder of a local run."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final

from collectorfleet.run.exit import Broken, Exit, UserError

LONGEST_TEMP_DIR: Final = 20


class RunFolder:
    """The temporary folder of a run. The constructor makes the folder. :meth:`clean` keeps the logs of a failed run."""

    def __init__(self) -> None:
        self._path = Path(tempfile.mkdtemp(prefix="cfleet-", dir=_short_temp_dir()))
        self.log_file = self._path / "run.log"
        self.ray = self._path / "ray"
        self.collectors = self._path / "collectors.log"  # output of the collectors in a fleet without Ray
        self.code = self._path / "code"  # the tree of spec.code
        self.scratch = self._path / "scratch"  # temporary files, such as videos

    def clean(self, ended: Exit) -> None:
        """Remove the folder after a run that completed or was stopped.

        Keep the log files after an error with a traceback of the user's code. Keep the whole folder, with Ray's logs,
        after another failure. Remove the folder after an error without a traceback, such as a refused option.
        """
        if isinstance(ended, Broken):
            return
        for path in self._path.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
        if not isinstance(ended, UserError) or not ended.traceback:
            shutil.rmtree(self._path, ignore_errors=True)


def _short_temp_dir() -> str:
    """Return the system's folder for temporary files, or ``/tmp`` if its path is too long.

    Ray creates sockets below the folder. The path of a socket has at most 107 characters, and Ray's part of the path
    needs 85 of these.
    """
    usual = tempfile.gettempdir()
    return usual if len(usual) <= LONGEST_TEMP_DIR else "/tmp"  # noqa: S108 (mkdtemp makes a folder for this user only)
