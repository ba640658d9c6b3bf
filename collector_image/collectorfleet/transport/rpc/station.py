"""The driver's one agent: all fleets of the process that go over RPC share it, and the last to leave closes it.

A collector calls by the key of its transport, which nobody else has been told.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from typing import Any, Final, Protocol

from torch import Tensor
from torch._C._distributed_rpc import WorkerInfo

from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet.transport.rpc.agent import LAST_NUMBER, Agent, taken
from collectorfleet.transport.rpc.options import TensorPipeOptions


class Host(Protocol):
    """Whom collectors call. Any thread, and several at once."""

    def joined(self, number: int, address: str) -> bytes | None:
        """A collector has an agent; what it is to build, pickled, or None if it is not wanted any more."""

    def heard(self, pickled: bytes, packed: Tensor | None) -> None:
        """What a collector says."""

    def fetched(self, parcel: int) -> tuple[bytes, Tensor] | None:
        """A snapshot, its header pickled; None if nobody is offered it any more."""


class Station:
    """Made by :func:`enter`."""

    def __init__(self, options: TensorPipeOptions) -> None:
        self.options = options
        self._agent = Agent.of_the_driver(options)
        self.hosts: dict[str, Host] = {}
        self._numbers = itertools.count(1)

    @property
    def address(self) -> str:
        return self._agent.address

    def number(self) -> int:
        """For another collector. Raises InfrastructureError when there is none left."""
        found = next(self._numbers)
        if found > LAST_NUMBER:
            raise InfrastructureError(
                f"transport 'rpc': one process has started {LAST_NUMBER} collectors, the most that torch can "
                "tell apart; restart the driver"
            )
        return found

    def take_in(self, number: int, address: str) -> WorkerInfo:
        return self._agent.take_in(name_of(number), number, address)

    def let_go(self, info: WorkerInfo) -> None:
        self._agent.let_go(info)

    def close(self) -> None:
        self._agent.close()


_LOCK: Final = threading.Lock()
_station: Station | None = None


def name_of(number: int) -> str:
    """Of an agent. Torch's own list of names cannot have a dash in them."""
    return f"collector_{number}"


def enter(options: TensorPipeOptions, host: Host) -> tuple[Station, str]:
    """The station and the key by which ``host`` is called. Raises InvalidOption: the process has another agent."""
    global _station
    with _LOCK:
        if _station is None:
            if taken():
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


def leave(key: str) -> None:
    """That host is called no more."""
    global _station
    with _LOCK:
        if _station is None or _station.hosts.pop(key, None) is None or _station.hosts:
            return
        _station.close()
        _station = None


# What collectors call, by these names: nothing of it may block for long, an agent has few threads.


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
