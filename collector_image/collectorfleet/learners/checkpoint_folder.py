"""The folder into which learner shards write their checkpoints. Only one process at a time may write into it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from collectorfleet.durable_files import is_full
from collectorfleet.errors import InvalidOption, describe

log = logging.getLogger(__name__)


class CheckpointFolder(Protocol):
    """A folder that belongs to this process until another process takes it over."""

    def writing(self) -> AbstractContextManager[None]:
        """Make the folder if it is missing, and let the ``with`` block write into the folder.

        Raises CollectorFleetError if another process has the folder, and OSError if the folder cannot be made.
        """


class NewFolder:
    """An empty folder that no other program uses."""

    def __init__(self, path: Path) -> None:
        """Make the folder. If the volume is full, :meth:`writing` makes the folder later.

        Raises OSError, or InvalidOption if the folder is not empty.
        """
        self._path = path
        self._is_ours = True
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if not is_full(error):
                raise
            # Training works without the folder.
            log.warning(
                "checkpoint_dir: %s cannot be created; the first checkpoint tries again: %s", path, describe(error)
            )
            self._is_ours = False
            return
        if any(path.iterdir()):
            raise InvalidOption(f"checkpoint_dir: {path} is not empty and belongs to another run; use an empty folder")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make the folder if it is missing. Raises OSError, or InvalidOption if another program made it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._path.mkdir()
        except FileExistsError as error:
            if not self._is_ours:
                raise InvalidOption(
                    f"checkpoint_dir: another program created {self._path} while the volume was full; start this "
                    "program again with a new empty folder"
                ) from error
        self._is_ours = True
        yield
