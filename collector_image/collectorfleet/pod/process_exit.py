"""Turn a call of ``os._exit`` in the user's code into a failure of the driver.

The driver's exit code tells the Job and the operator how the run ended. Code 0 completes the fleet. Two other
codes restart the driver, and this restart does not count against the limit. Only the driver itself may use these three
codes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from collectorfleet.pod.settings import TERMINATION_LOG
from collectorfleet_api.names import EXIT_INFRASTRUCTURE


@contextmanager
def os_exit_as_failure() -> Iterator[None]:
    """Inside the ``with`` block, let ``os._exit`` end this process with the exit code of a failure.

    The Job counts this failure. Forked processes, such as the processes of ``multiprocessing``, keep their exit codes.
    """
    end, driver = os._exit, os.getpid()

    def end_as_failure(status: int) -> NoReturn:
        if os.getpid() != driver:
            end(status)
        message = f"code in the driver called os._exit({status}); return from the training function, or raise an error"
        if TERMINATION_LOG.exists():  # only in a pod
            TERMINATION_LOG.write_text(message)
        os.write(2, f"failed: {message}\n".encode())
        end(EXIT_INFRASTRUCTURE)

    os._exit = end_as_failure
    try:
        yield
    finally:
        os._exit = end
