"""The threads in which a driver waits until its collectors' processes end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

# A killed process ends at once, unless it waits for a volume.
_JOIN_SECONDS: Final = 5.0


class ProcessWatches:
    """The threads of one transport, one for each process. Each thread runs a function that waits for the end."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def begin(self, watch: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=watch, args=arguments, name="process-watch", daemon=True)
        thread.start()
        # If start() raises RuntimeError, the thread is not added, because it could not be joined.
        self._threads = [one for one in self._threads if one.is_alive()] + [thread]

    def join(self) -> None:
        """Block until the threads have ended, for at most 5 s. The caller has killed all processes.

        A thread refers to its transport. If the thread frees the transport's tensors while Python exits, SIGABRT ends
        the driver.
        """
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
