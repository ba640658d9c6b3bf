"""``os._exit`` in the user's code is a failure of the driver, whatever exit code the code chose.

The driver's exit codes tell the Job and the operator how the run ended. Code 0 completes the fleet, and two codes
restart the driver without counting it. Only the driver itself may use them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from collectorfleet.pod.settings import TERMINATION_LOG
from collectorfleet_api.names import EXIT_INFRASTRUCTURE


@contextmanager
def counted_exits() -> Iterator[None]:
    """Let ``os._exit`` end this process with the code of a failure that the Job counts, in the ``with`` block.

    Forked processes, such as those of ``multiprocessing``, end as they ask.
    """
    end, driver = os._exit, os.getpid()

    def end_as_failure(status: int) -> NoReturn:
        if os.getpid() != driver:
            end(status)
        message = f"code in the driver called os._exit({status}): return from the training function, or raise an error"
        if TERMINATION_LOG.exists():  # not outside of a pod
            TERMINATION_LOG.write_text(message)
        os.write(2, f"failed: {message}\n".encode())
        end(EXIT_INFRASTRUCTURE)

    os._exit = end_as_failure
    try:
        yield
    finally:
        os._exit = end
