"""Make the driver pod a node of its Ray cluster, so that batches move from worker pods directly to the driver."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final

from collectorfleet.errors import CollectorFleetError
from collectorfleet.run.stop import StopRequest

log = logging.getLogger(__name__)

TRIES: Final = 5


class CannotJoin(CollectorFleetError):
    """`ray start` failed in all attempts."""


class RayNode:
    """The driver pod as a node of a Ray cluster. ``address`` is the host:port of the head.

    The constructor starts a thread that joins the cluster. :meth:`wait_until_joined` waits for this thread.
    """

    def __init__(self, address: str, stop: StopRequest) -> None:
        self._address = address
        self._stop = stop
        self._joined = ThreadPoolExecutor(1, "ray-node").submit(self._join)

    def wait_until_joined(self) -> None:
        """Block until this machine is a node of the cluster. There is no timeout, because the head may start late.

        Raises CannotJoin with the output of `ray start`, and StopNow after a request to stop.
        """
        # result(timeout) cannot be used here. It raises TimeoutError if the time has passed, and also if the thread
        # itself ended with TimeoutError.
        while not wait([self._joined], 0.2).done:
            self._stop.raise_if_requested()
        self._joined.result()

    def _join(self) -> None:
        said = ""
        for attempt in range(1, TRIES + 1):
            done = subprocess.run(
                [sys.executable, "-m", "collectorfleet.pod.join_ray", self._address],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                return
            said = done.stdout.strip()
            log.warning("ray start failed, try %d of %d: %s", attempt, TRIES, said[-2000:])
            time.sleep(attempt)
        raise CannotJoin(f"ray start --address={self._address} failed {TRIES} times: {said[-500:]}")
