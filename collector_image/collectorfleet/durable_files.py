"""Writing so that a kill or a crash at any moment leaves the old file or the new one, never half of one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

UNFINISHED: Final = ".unfinished-"


def write_json(file: Path, content: Any) -> None:
    """Put ``content`` into ``file``, whole or not at all."""
    write_bytes(file, json.dumps(content, indent=1).encode())


def write_bytes(file: Path, content: bytes | memoryview) -> None:
    """Put ``content`` into ``file``, whole or not at all."""
    unfinished = file.with_name(UNFINISHED + file.name)
    with unfinished.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    unfinished.replace(file)
    sync(file.parent)


def rename_folder(unfinished: Path, folder: Path) -> None:
    """Give a folder that was written under another name its own, once all that is in it is on disk."""
    for path in unfinished.rglob("*"):
        sync(path)
    sync(unfinished)
    unfinished.rename(folder)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Block until ``path``, a file or a folder's list of names, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
