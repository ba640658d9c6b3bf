"""``python -m collectorfleet.pod.join_ray HOST:PORT``: wait for a Ray head, then make this machine a node of its
cluster without CPUs or GPUs for work.

A process of its own, so that `ray start` is imported, which takes seconds, before the head is there. Waiting is a TCP
connection tried ten times a second.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from typing import Final

from collectorfleet.pod.pod_logs import log_as_asked
from collectorfleet.run.milestones import Milestone, log_milestone

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.1
SAY_SECONDS: Final = 30.0


def main(address: str) -> None:
    """Ends with the exit code of `ray start`."""
    log_as_asked(sys.stderr, os.environ)
    from ray.scripts.scripts import cli

    if wait_for(address):
        log_milestone(Milestone.HEAD)
        cli(["start", f"--address={address}", "--num-cpus=0", "--num-gpus=0", "--disable-usage-stats"])


def wait_for(address: str) -> bool:
    """Block until something answers at ``address``; False if the driver, our parent, is gone before that."""
    parent, say_at = os.getppid(), time.monotonic() + SAY_SECONDS
    while problem := why_unreachable(address):
        if os.getppid() != parent:
            return False
        if time.monotonic() >= say_at:
            log.info("waiting for the head at %s: %s", address, problem)
            say_at += SAY_SECONDS
        time.sleep(LOOK_SECONDS)
    return True


def why_unreachable(address: str) -> str:
    """Why nothing answers at host:port; empty if something does."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=2):
            return ""
    except OSError as error:
        return str(error)


if __name__ == "__main__":
    main(sys.argv[1])
