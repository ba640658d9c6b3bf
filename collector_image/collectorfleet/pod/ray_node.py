"""The driver pod as a node of its Ray cluster: batches reach it from the worker pods' nodes directly."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from collectorfleet.errors import CollectorFleetError
from collectorfleet.run.stop import StopRequest

log = logging.getLogger(__name__)

TRIES: Final = 5


class CannotJoin(CollectorFleetError):
    """The head answers, and `ray start` fails all the same."""


class RayNode:
    """Joins ``address`` (host:port of the head) in the background; :meth:`wait_until_joined` waits for it."""

    def __init__(self, address: str, stop: StopRequest) -> None:
        self._address = address
        self._stop = stop
        self._joined = ThreadPoolExecutor(1, "ray-node").submit(self._join)

    def wait_until_joined(self) -> None:
        """Block until this machine is a node of the cluster, for as long as the head takes to come.

        Raises CannotJoin with Ray's own words, or StopNow.
        """
        while True:
            try:
                return self._joined.result(timeout=0.2)
            except TimeoutError:
                self._stop.raise_if_requested()

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
