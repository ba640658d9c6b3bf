"""Inspect and remove folders that other processes may change at the same time."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from pathlib import Path
from typing import Final

# Names of entries that file systems, desktops and drivers create in a folder without user content.
_IGNORED: Final = re.compile(r"\..*|lost\+found|@eaDir|#recycle")
# Another driver may still write files into its staging folder while this driver removes the folder.
_REMOVAL_TRIES: Final = 40
_PAUSE_SECONDS: Final = 0.05
# A removal may raise these errors while another process adds or removes files, or replaces a folder by a file or vice
# versa.
_CHANGED_MEANWHILE: Final = frozenset(
    {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOTDIR, errno.EISDIR}
)


def holds_anything(path: Path) -> bool:
    """Return whether the folder at ``path`` contains more than hidden files and system folders."""
    return bool(visible_names(path))


def visible_names(path: Path) -> set[str]:
    """Return the names in the folder at ``path``, without hidden files and system folders. No folder has no names."""
    if not path.exists():
        return set()
    return {one for one in os.listdir(path) if not _IGNORED.fullmatch(one)}


def make(path: Path) -> None:
    """Make the folder and its parents if they do not exist.

    Raises OSError, and NotADirectoryError with the reason if a file or a broken link has the name of the folder.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        link = f", but a link whose target {os.readlink(path)} does not exist" if path.is_symlink() else ", but a file"
        raise NotADirectoryError(errno.ENOTDIR, f"not a folder{link}; name a folder", str(path)) from error


def remove(path: Path) -> None:
    """Remove a file or a folder, even if other processes still write into it. Retries for 2 s.

    Raises OSError if the removal fails, for example because another process makes the file or folder again each time.
    """
    for tries_left in reversed(range(_REMOVAL_TRIES)):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            if not tries_left or error.errno not in _CHANGED_MEANWHILE:
                raise
        if not os.path.lexists(path):
            return
        time.sleep(_PAUSE_SECONDS)
    raise OSError(errno.EEXIST, f"removed {_REMOVAL_TRIES} times, but another process creates it again", str(path))
