"""An agent of ``torch.distributed.rpc`` that knows the driver, or is it, and nobody else.

``init_rpc`` makes groups in which all members know each other. A group of a fixed size takes no new member. A group
that grows takes none after a member has died, because a new member calls all others. Here each collector knows only the
driver, and the driver adds and removes members. A death affects one connection.
"""

from __future__ import annotations

import os
import socket
from typing import Final, cast

from torch._C._distributed_c10d import HashStore

# An agent is of the C++ side, and has no public name.
from torch._C._distributed_rpc import TensorPipeAgent, WorkerInfo, _get_current_rpc_agent, _is_current_rpc_agent_set
from torch.distributed import autograd, rpc
from torch.distributed.rpc import api
from torch.distributed.rpc.options import TensorPipeRpcBackendOptions

from collectorfleet.transport.rpc.options import TensorPipeOptions

DRIVER: Final = "driver"
_DRIVER_NUMBER: Final = 0
# Torch has them as 16-bit numbers, and the connections of one that was given before stay broken.
LAST_NUMBER: Final = 2**15 - 1
_ADDRESSES: Final = "addrs/"
_EVERYBODY: Final = "names/_ALL_WORKER_INFOS"
_INTERFACE: Final = "TP_SOCKET_IFNAME"
# How torch says it: there is no class of its own.
_LATE: Final = "RPC ran for more than set timeout"


class Agent:
    """The one of this process, from the constructor until :meth:`close`.

    ``driver`` is the address of the driver's; None: this is it. Raises RuntimeError where torch cannot make it.
    """

    def __init__(self, options: TensorPipeOptions, *, name: str, number: int, driver: str | None) -> None:
        self._name = name
        self._store = HashStore()
        if driver is not None:
            self._store.set(_ADDRESSES + DRIVER, driver)
            self._store.set(_EVERYBODY, f"{DRIVER}-{_DRIVER_NUMBER},")
        autograd._init(number)  # type: ignore[attr-defined]
        before = os.environ.get(_INTERFACE)
        # TensorPipe asks nobody who calls: its port is for this machine alone.
        os.environ[_INTERFACE] = _loopback()
        try:
            given = TensorPipeRpcBackendOptions(**options.arguments())
            agent = TensorPipeAgent(self._store, name, number, None, given, {}, [])
        finally:
            if before is None:
                del os.environ[_INTERFACE]
            else:
                os.environ[_INTERFACE] = before
        # Torch keeps it. Whoever else did would end it with Python's lock held, for which its threads may wait.
        api._init_rpc_states(agent)  # type: ignore[no-untyped-call]

    @classmethod
    def of_the_driver(cls, options: TensorPipeOptions) -> Agent:
        return cls(options, name=DRIVER, number=_DRIVER_NUMBER, driver=None)

    @property
    def address(self) -> str:
        """Where others reach it."""
        return bytes(self._store.get(_ADDRESSES + self._name)).decode()

    def take_in(self, name: str, number: int, address: str) -> WorkerInfo:
        """From now on it may be called, by what this returns."""
        self._store.set(_ADDRESSES + name, address)
        info = WorkerInfo(name, number)
        _current()._update_group_membership(info, [], {}, True)
        return info

    def let_go(self, info: WorkerInfo) -> None:
        """It is called no more."""
        _current()._update_group_membership(info, [], {}, False)
        self._store.delete_key(_ADDRESSES + info.name)

    def close(self) -> None:
        """Calls that are under way fail."""
        rpc.shutdown(graceful=False)


def is_late(error: Exception) -> bool:
    """Whether it is what a call raises that was not answered by its deadline."""
    return isinstance(error, RuntimeError) and _LATE in str(error)


def taken() -> bool:
    """Whether this process has an agent, of which there is one at a time."""
    return bool(_is_current_rpc_agent_set())


def _current() -> TensorPipeAgent:
    return cast("TensorPipeAgent", _get_current_rpc_agent())


def _loopback() -> str:
    return next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
