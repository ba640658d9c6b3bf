"""Start a simulator on free ports, and wait until it listens on all of them."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from collectorfleet.actor.simulator import ports
from collectorfleet.actor.simulator.command import addresses, arguments, variables
from collectorfleet.actor.simulator.failure import SimulatorFailed, last_lines, name_of
from collectorfleet.actor.simulator.options import SimulatorProcess
from collectorfleet.actor.simulator.process import SimulatorProcess as Process
from collectorfleet.actor.simulator.sockets import open_sockets

_TRIES: Final = 3
_LOOK_SECONDS: Final = 0.05
_NO_PORT: Final = re.compile(r"address (is )?already in use|EADDRINUSE|errno (48|98|10048)\b", re.IGNORECASE)


class PortTaken(SimulatorFailed):
    """Another process used a port before the simulator could listen on the port."""


@dataclass(frozen=True)
class Started:
    """A simulator that listens on its ports."""

    name: str
    process: Process
    ports: Mapping[str, int]
    since: float = field(default_factory=time.monotonic)

    @property
    def addresses(self) -> dict[str, str]:
        """The addresses for the environment factory, by name."""
        return addresses(self.ports)


def start(asked: SimulatorProcess) -> Started:
    """Start a simulator, and block until it listens on its ports. If another process uses a port, try other ports.

    Raises SimulatorFailed if the simulator has ended, or if it does not listen on all ports in time. In the second case
    this function stops the simulator.
    """
    if sys.platform != "linux":
        raise SimulatorFailed(
            f"process: a simulator needs Linux, but this machine runs {sys.platform}; run the fleet in a container"
        )
    first: PortTaken | None = None
    for _ in range(_TRIES):
        try:
            return _start_once(asked)
        except PortTaken as error:
            first = first or error
    raise SimulatorFailed(f"{first}; the simulator did not start in {_TRIES} tries, each with other ports") from first


def _start_once(asked: SimulatorProcess) -> Started:
    reservation = ports.reserve(asked.ports)
    line = arguments(asked.command, reservation.ports)
    name = name_of(line)
    try:
        process = Process(line, variables(reservation.ports), reservation.sockets)
    except (OSError, ValueError) as error:
        raise SimulatorFailed(f"{name}: could not be run: {error}") from error
    finally:
        reservation.close()
    try:
        _wait_until_ready(name, process, reservation.ports, asked.ready_timeout)
    except BaseException:
        process.stop()
        raise
    return Started(name, process, reservation.ports)


def _wait_until_ready(name: str, process: Process, chosen: Mapping[str, int], within: timedelta) -> None:
    begun = time.monotonic()
    foreign: set[int] = set()
    while not process.ended.is_set():
        found = ports.listeners(chosen.values() if process.supervisor is not None else ())
        before, foreign = foreign, _foreign(found, process)
        closed = [one for one, port in chosen.items() if not found.get(port, set()) - foreign]
        if not closed:
            return
        # Report a socket of another program only if two checks in a row find it. Processes may begin or end during one
        # check.
        taken = [chosen[one] for one in closed if found.get(chosen[one], set()) & before]
        if taken:
            raise PortTaken(f"{name}: another program listens on port {taken[0]}; {last_lines(process.tail())}")
        if time.monotonic() - begun > within.total_seconds():
            wanted = ", ".join(f"{port} ({chosen[port]})" for port in closed)
            raise SimulatorFailed(
                f"{name}: nothing listens on {wanted} after {within.total_seconds():g} s (readyTimeoutSeconds), "
                f"although the process runs; use {{{closed[0]}}} in the command to pass the port; "
                f"{last_lines(process.tail())}"
            )
        process.ended.wait(_LOOK_SECONDS)
    tail = process.tail()
    sentence = f"{name}: {process.exit} before it listened on its ports; {last_lines(tail)}"
    raise (PortTaken if _is_about_a_port(tail, chosen) else SimulatorFailed)(sentence)


def _foreign(found: Mapping[int, set[int]], process: Process) -> set[int]:
    """Return those listening sockets that do not belong to a process of the simulator."""
    inodes = {inode for listening in found.values() for inode in listening}
    if not inodes or process.supervisor is None:
        return inodes
    own = open_sockets(process.supervisor)
    # If the sockets of the simulator cannot be read, all listening sockets count as the simulator's sockets.
    return set() if own is None else inodes - own


def _is_about_a_port(tail: Sequence[str], chosen: Mapping[str, int]) -> bool:
    return any(_NO_PORT.search(line) for line in tail) or not ports.are_free(chosen.values())
