"""What one run needs on this machine's disk, in a folder of its own."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final

from collectorfleet.run.exit import Broken, Exit, UserError

LONGEST_TEMP_DIR: Final = 20


class RunFolder:
    """Made when the object is; :meth:`clean` leaves what somebody may want to read."""

    def __init__(self) -> None:
        self._path = Path(tempfile.mkdtemp(prefix="cfleet-", dir=_short_temp_dir()))
        self.log_file = self._path / "run.log"
        self.ray = self._path / "ray"
        self.collectors = self._path / "collectors.log"  # what they print, where they are not in Ray
        self.code = self._path / "code"  # of the manifest's ConfigMap
        self.scratch = self._path / "scratch"  # for what is shown while the run goes on

    def clean(self, ended: Exit) -> None:
        """Keep the log of a failed run, and with it Ray's own where the user's code was not the reason."""
        if isinstance(ended, Broken):
            return
        for path in self._path.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
        if not isinstance(ended, UserError):
            shutil.rmtree(self._path, ignore_errors=True)


def _short_temp_dir() -> str:
    """Ray puts sockets below it, whose paths may have 107 characters, and needs 85 of them itself."""
    usual = tempfile.gettempdir()
    return usual if len(usual) <= LONGEST_TEMP_DIR else "/tmp"  # noqa: S108 (mkdtemp makes the folder ours alone)
