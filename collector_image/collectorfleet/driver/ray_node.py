"""Makes the driver pod a node of its Ray cluster, without CPUs or GPUs for work: batches reach it directly.

Waiting for the head is a TCP connection tried ten times a second, so that `ray start`, which takes seconds of CPU, runs
once and at the right time. It runs in a process of its own while this one imports torch.
"""

from __future__ import annotations

import logging
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from collectorfleet.driver.phases import Phase, mark
from collectorfleet.driver.stop import StopNow, StopRequest
from collectorfleet.errors import CollectorFleetError

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.1
SAY_SECONDS: Final = 30.0
START_SECONDS: Final = 120
TRIES: Final = 5


class CannotJoin(CollectorFleetError):
    """The head answers, and `ray start` fails all the same."""


class RayNode:
    """Joins ``address`` (host:port of the head) in the background; :meth:`joined` waits for it."""

    def __init__(self, address: str, stop: StopRequest) -> None:
        self._address = address
        self._stop = stop
        self._joined = ThreadPoolExecutor(1, "ray-node").submit(self._run)

    def joined(self) -> None:
        """Block until this machine is a node of the cluster, for as long as the head takes to come.

        Raises CannotJoin with Ray's own words, or StopNow.
        """
        while True:
            try:
                return self._joined.result(timeout=0.2)
            except TimeoutError:
                if self._stop.requested():
                    raise StopNow from None

    def _run(self) -> None:
        self._wait_for_head()
        mark(Phase.HEAD)
        self._join()

    def _wait_for_head(self) -> None:
        say_at = time.monotonic() + SAY_SECONDS
        while (problem := _unreachable(self._address)) and not self._stop.requested():
            if time.monotonic() >= say_at:
                log.info("waiting for the head at %s: %s", self._address, problem)
                say_at += SAY_SECONDS
            time.sleep(LOOK_SECONDS)

    def _join(self) -> None:
        said = ""
        for attempt in range(1, TRIES + 1):
            done = subprocess.run(
                ["ray", "start", f"--address={self._address}", "--num-cpus=0", "--num-gpus=0", "--disable-usage-stats"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=START_SECONDS,
                check=False,
            )
            if done.returncode == 0:
                return
            said = done.stdout.strip()
            log.warning("ray start failed, try %d of %d: %s", attempt, TRIES, said[-2000:])
            time.sleep(attempt)
        raise CannotJoin(f"ray start --address={self._address} failed {TRIES} times: {said[-500:]}")


def _unreachable(address: str) -> str:
    """Why nothing answers at host:port; empty if something does."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=2):
            return ""
    except OSError as error:
        return str(error)
