"""Where the user's code finds itself: in a folder that has its files and takes new ones, as by hand."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

log = logging.getLogger(__name__)


def enter_working_folder(code: Path) -> None:
    """Go to a new folder with links to all that is in ``code``, which may be absent and is read-only where it is there.

    Programs read files of their folder and leave plots and the like in it. What they leave there ends with the pod.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="run-"))
        for path in code.iterdir() if code.is_dir() else ():
            # What a mount keeps for itself begins with two dots.
            if not path.name.startswith(".."):
                (folder / path.name).symlink_to(path)
    except OSError as error:
        log.warning("no folder of the pod can be written to, so the driver has no working folder: %s", error)
        return
    os.chdir(folder)
