"""Implement ``python -m collectorfleet.pod.join_ray HOST:PORT``: wait for a Ray head, and join its cluster.

This machine becomes a node without CPUs and GPUs, so Ray schedules no work on it. The module runs in its own process.
The import of `ray start` takes seconds, and overlaps with the start of the head. The process tries a TCP connection to
the head ten times a second.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from typing import Final

from collectorfleet.pod.pod_logs import set_up_pod_log
from collectorfleet.run.milestones import Milestone, log_milestone

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.1
SAY_SECONDS: Final = 30.0


def main(address: str) -> None:
    """Wait for the head at ``address`` (host:port), run `ray start`, and end the process with the command's exit code.

    Return without `ray start` if the driver has ended.
    """
    set_up_pod_log(sys.stderr, os.environ)
    from ray.scripts.scripts import cli

    if wait_for(address):
        log_milestone(Milestone.HEAD)
        cli(["start", f"--address={address}", "--num-cpus=0", "--num-gpus=0", "--disable-usage-stats"])


def wait_for(address: str) -> bool:
    """Block until a process listens at ``address`` (host:port). Return False if the parent process ends first."""
    parent, say_at = os.getppid(), time.monotonic() + SAY_SECONDS
    while problem := why_unreachable(address):
        if os.getppid() != parent:
            return False
        if time.monotonic() >= say_at:
            log.info("waiting for the Ray head at %s: %s", address, problem)
            say_at += SAY_SECONDS
        time.sleep(LOOK_SECONDS)
    return True


def why_unreachable(address: str) -> str:
    """Return why a TCP connection to host:port failed, or an empty string if it succeeded. The timeout is 2 s."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=2):
            return ""
    except OSError as error:
        return str(error)


if __name__ == "__main__":
    main(sys.argv[1])
