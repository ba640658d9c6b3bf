"""The driver's only agent. All fleets of the process that use RPC share it, and the last fleet closes it.

Each call of a collector contains the key of its transport. Only the transport's collectors know this key.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from typing import Any, Final, Protocol

from torch import Tensor
from torch._C._distributed_rpc import WorkerInfo

from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet.transport.rpc.agent import LAST_NUMBER, Agent, has_agent
from collectorfleet.transport.rpc.options import TensorPipeOptions


class Host(Protocol):
    """The methods of a transport that collectors call. Several threads may call them at the same time."""

    def joined(self, number: int, address: str) -> bytes | None:
        """Register a collector's agent. Return its pickled build message, or None if the collector was stopped."""

    def heard(self, pickled: bytes, packed: Tensor | None) -> None:
        """Handle a collector's message."""

    def fetched(self, parcel: int) -> tuple[bytes, Tensor] | None:
        """Return a snapshot with its pickled header, or None if the snapshot is no longer offered."""


class Station:
    """The shared agent and its hosts. :func:`register_transport` creates it."""

    def __init__(self, options: TensorPipeOptions) -> None:
        self.options = options
        self._agent = Agent.of_the_driver(options)
        self.hosts: dict[str, Host] = {}
        self._numbers = itertools.count(1)

    @property
    def address(self) -> str:
        return self._agent.address

    def number(self) -> int:
        """Return an unused agent number. Raises InfrastructureError if none is left."""
        found = next(self._numbers)
        if found > LAST_NUMBER:
            raise InfrastructureError(
                f"transport 'rpc': one process has started {LAST_NUMBER} collectors, the most that torch can "
                "tell apart; restart the driver"
            )
        return found

    def add_member(self, number: int, address: str) -> WorkerInfo:
        return self._agent.add_member(name_of(number), number, address)

    def remove_member(self, info: WorkerInfo) -> None:
        self._agent.remove_member(info)

    def close(self) -> None:
        self._agent.close()


_LOCK: Final = threading.Lock()
_station: Station | None = None


def name_of(number: int) -> str:
    """Return an agent's name. torch's list of names allows no dash in a name."""
    return f"collector_{number}"


def register_transport(options: TensorPipeOptions, host: Host) -> tuple[Station, str]:
    """Return the station, and the key of ``host``. Raises InvalidOption if other code has an agent."""
    global _station
    with _LOCK:
        if _station is None:
            if has_agent():
                raise InvalidOption(
                    "transport: 'rpc' needs the agent of torch.distributed.rpc, but code of this process has "
                    "called init_rpc; use 'torch_distributed', or shut that agent down first"
                )
            try:
                _station = Station(options)
            except RuntimeError as error:
                raise InvalidOption(
                    f"tensorpipe_options: {options.arguments()}: {str(error).splitlines()[0]}"
                ) from error
        elif options != _station.options:
            raise InvalidOption(
                f"tensorpipe_options: {options.arguments()}, but another fleet of this process has "
                f"{_station.options.arguments()}; a process has one agent, so give both fleets the same "
                "options"
            )
        key = secrets.token_hex(16)
        _station.hosts[key] = host
        return _station, key


def unregister_transport(key: str) -> None:
    """Remove the transport with this key. Closes the agent if no other transport is registered."""
    global _station
    with _LOCK:
        if _station is None or _station.hosts.pop(key, None) is None or _station.hosts:
            return
        _station.close()
        _station = None


# Collectors call these functions by name. The functions must not block for long, because an agent has few threads.


def join(key: str, number: int, address: str) -> bytes | None:
    host = _host(key)
    return None if host is None else host.joined(number, address)


def hear(key: str, pickled: bytes, packed: Tensor | None) -> None:
    host = _host(key)
    if host is not None:
        host.heard(pickled, packed)


def fetch(key: str, parcel: int) -> Any:
    host = _host(key)
    return None if host is None else host.fetched(parcel)


def _host(key: str) -> Host | None:
    station = _station
    return None if station is None else station.hosts.get(key)
