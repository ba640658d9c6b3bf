"""What is in a folder, and what is removed from it, while others may change it."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from pathlib import Path
from typing import Final

# What file systems, desktops and drivers put into a folder that is otherwise empty.
_IGNORED: Final = re.compile(r"\..*|lost\+found|@eaDir|#recycle")
# A driver that is still writing into its staging folder makes files while they are being removed.
_REMOVAL_TRIES: Final = 40
_PAUSE_SECONDS: Final = 0.05


def holds_anything(path: Path) -> bool:
    """Return whether the folder at ``path`` holds anything but what drivers were about to write."""
    if not path.exists():
        return False
    return any(not _IGNORED.fullmatch(one) for one in os.listdir(path))


def remove(path: Path) -> None:
    """Remove a file or a folder, into which others may still be writing. Raises OSError."""
    for tries_left in reversed(range(_REMOVAL_TRIES)):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            if not tries_left or error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
                raise
        if not path.exists():
            return
        time.sleep(_PAUSE_SECONDS)
