"""A process group of torch.distributed that carries packed bytes.

The process groups of this module are independent of torch's default group. So a driver may use the default group and
run several fleets.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Final

import torch
from torch import Tensor
from torch._C import _distributed_c10d as c10d

from collectorfleet.transport.distributed.link import Address

# Each operation has a timeout. Large tensors are sent in pieces, so that a slow network does not look like a dead
# member.
_PIECE_BYTES: Final = 32 * 2**20
_DRIVER: Final = 0


class Group:
    """A process group. The constructor blocks until all ``size`` members have joined, or raises RuntimeError.

    ``store`` is the address of the store at which the members meet. ``own_host`` is the host at which other members
    reach this member. ``timeout`` limits the wait for members, and the transfer of each piece of the data. A transfer
    that fails or takes longer raises RuntimeError, and the group cannot be used afterwards.
    """

    def __init__(self, store: Address, own_host: str, *, rank: int, size: int, timeout: timedelta) -> None:
        host, port = store
        # Each group has its own client, because a client that waits for a key blocks all its other requests.
        client = c10d.TCPStore(host, port, is_master=False, timeout=timeout)
        # torch's stubs lack the options and the operations.
        gloo: Any = c10d.ProcessGroupGloo
        options = gloo._Options()
        options._devices = [gloo.create_device(hostname=own_host)]
        options._timeout = timeout
        self._group: Any = gloo(client, rank, size, options)
        self._timeout = timeout

    def send(self, packed: Tensor, to: int = _DRIVER) -> None:
        for piece in _pieces(packed):
            self._finish(self._group.send([piece], to, 0))

    def receive(self, packed: Tensor, of: int = _DRIVER) -> None:
        """Receive into ``packed``, which must have the size of the sender's buffer."""
        for piece in _pieces(packed):
            self._finish(self._group.recv([piece], of, 0))

    def broadcast(self, packed: Tensor) -> None:
        """Copy the driver's ``packed`` into the ``packed`` of all members."""
        for piece in _pieces(packed):
            self._finish(self._group.broadcast(piece, _DRIVER))

    def _finish(self, work: Any) -> None:
        if not work.wait(self._timeout):
            raise RuntimeError("an operation of the process group did not complete")


def forming(store: Address, own_host: str, *, rank: int, size: int, timeout: timedelta) -> Future[Group]:
    """Join a group on a thread. The caller does not have to wait for the thread.

    If a member dies between the rendezvous and the last connection, the others wait for up to 30 s, regardless of
    ``timeout``. This limit is fixed in gloo, and nothing can shorten the wait.
    """
    formed: Future[Group] = Future()

    def form() -> None:
        try:
            formed.set_result(Group(store, own_host, rank=rank, size=size, timeout=timeout))
        except RuntimeError as error:
            formed.set_exception(error)

    # The thread is not a daemon, so that Python waits for it at exit. If Python exits within torch code, the process
    # ends by SIGABRT.
    threading.Thread(target=form, name="gang", daemon=False).start()
    return formed


def _pieces(packed: Tensor) -> Sequence[Tensor]:
    return torch.split(packed, _PIECE_BYTES) if packed.numel() else ()
