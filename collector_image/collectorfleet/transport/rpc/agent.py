"""An agent of ``torch.distributed.rpc``. Each connection has the driver on one side and one collector on the other.

``init_rpc`` makes groups in which all members know each other. A group of a fixed size takes no new member. A group
that can grow takes no new member after a death, because a new member calls all other members, even a dead member. Here
each collector knows only the driver, and the driver adds and removes members. A death affects one connection.
"""

from __future__ import annotations

import os
import socket
from typing import Final, cast

from torch._C._distributed_c10d import HashStore

# The agent's class is in torch's C++ code, and has no public name.
from torch._C._distributed_rpc import TensorPipeAgent, WorkerInfo, _get_current_rpc_agent, _is_current_rpc_agent_set
from torch.distributed import autograd, rpc
from torch.distributed.rpc import api
from torch.distributed.rpc.options import TensorPipeRpcBackendOptions

from collectorfleet.transport.rpc.options import TensorPipeOptions

DRIVER: Final = "driver"
_DRIVER_NUMBER: Final = 0
# torch stores the numbers as 16-bit integers. If a number is used again, its connections stay broken.
LAST_NUMBER: Final = 2**15 - 1
_ADDRESSES: Final = "addrs/"
_EVERYBODY: Final = "names/_ALL_WORKER_INFOS"
_INTERFACE: Final = "TP_SOCKET_IFNAME"
# torch has no class for this error, only this text.
_LATE: Final = "RPC ran for more than set timeout"


class Agent:
    """The agent of this process, from the constructor until :meth:`close`.

    ``driver`` is the address of the driver's agent. None: this process is the driver. Raises RuntimeError if torch
    cannot create the agent.
    """

    def __init__(self, options: TensorPipeOptions, *, name: str, number: int, driver: str | None) -> None:
        self._name = name
        self._store = HashStore()
        if driver is not None:
            self._store.set(_ADDRESSES + DRIVER, driver)
            self._store.set(_EVERYBODY, f"{DRIVER}-{_DRIVER_NUMBER},")
        autograd._init(number)  # type: ignore[attr-defined]
        before = os.environ.get(_INTERFACE)
        # TensorPipe does not authenticate callers, so its port is open for this machine only.
        os.environ[_INTERFACE] = _loopback()
        try:
            given = TensorPipeRpcBackendOptions(**options.arguments())
            agent = TensorPipeAgent(self._store, name, number, None, given, {}, [])
        finally:
            if before is None:
                del os.environ[_INTERFACE]
            else:
                os.environ[_INTERFACE] = before
        # Let torch own the agent. Another owner could destroy the agent while holding Python's lock, and the agent's
        # threads may wait for this lock.
        api._init_rpc_states(agent)  # type: ignore[no-untyped-call]

    @classmethod
    def of_the_driver(cls, options: TensorPipeOptions) -> Agent:
        return cls(options, name=DRIVER, number=_DRIVER_NUMBER, driver=None)

    @property
    def address(self) -> str:
        """Return the address at which others reach this agent."""
        return bytes(self._store.get(_ADDRESSES + self._name)).decode()

    def add_member(self, name: str, number: int, address: str) -> WorkerInfo:
        """Add a member. Return the argument that addresses the member in calls."""
        self._store.set(_ADDRESSES + name, address)
        info = WorkerInfo(name, number)
        _current()._update_group_membership(info, [], {}, True)
        return info

    def remove_member(self, info: WorkerInfo) -> None:
        """Remove a member."""
        _current()._update_group_membership(info, [], {}, False)
        self._store.delete_key(_ADDRESSES + info.name)

    def close(self) -> None:
        """Shut the agent down. Pending calls fail."""
        rpc.shutdown(graceful=False)


def is_late(error: Exception) -> bool:
    """Return whether ``error`` is torch's error for a call that exceeded its timeout."""
    return isinstance(error, RuntimeError) and _LATE in str(error)


def has_agent() -> bool:
    """Return whether this process has an agent. A process can have only one agent at a time."""
    return bool(_is_current_rpc_agent_set())


def _current() -> TensorPipeAgent:
    return cast("TensorPipeAgent", _get_current_rpc_agent())


def _loopback() -> str:
    return next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
