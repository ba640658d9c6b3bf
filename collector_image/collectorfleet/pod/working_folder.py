"""Make the working directory of the user's code: a writable folder that has the files of the code."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

log = logging.getLogger(__name__)


def enter_working_folder(code: Path) -> None:
    """Make a new folder with links to the entries of ``code``, and make it the working directory.

    ``code`` is read-only, or does not exist. Programs read files from their working directory, and write files such as
    plots into it. These files are deleted with the pod. If no folder can be made, log a warning and return. If ``code``
    cannot be listed, log a warning, and the new folder is empty.
    """
    entries = _entries(code)
    try:
        folder = Path(tempfile.mkdtemp(prefix="run-"))
        for path in entries:
            (folder / path.name).symlink_to(path)
    except OSError as error:
        log.warning("no folder of the pod can be written to, so the driver has no working folder: %s", error)
        return
    os.chdir(folder)


def _entries(code: Path) -> list[Path]:
    try:
        # In a mount, the names of Kubernetes' own entries begin with two dots.
        return [path for path in code.iterdir() if not path.name.startswith("..")] if code.is_dir() else []
    except OSError as error:
        log.warning("the files of the code are not in the working folder, because the code cannot be listed: %s", error)
        return []
