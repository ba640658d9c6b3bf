"""The interface that the gather thread uses. The messages of a transport are in :mod:`collectorfleet.messages`.

``tests/contract`` tests every transport against this interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol

from collectorfleet.messages import CollectorId, Failed, Message, Request, Returned, Stored, Weights


class TransportKind(StrEnum):
    """The transports that a fleet may use."""

    OBJECT_STORE = "object_store"
    TORCH_DISTRIBUTED = "torch_distributed"
    RPC = "rpc"


class Transport(Protocol):
    """Sends the driver's requests to collectors, and receives their messages.

    Only :meth:`put` and :meth:`wait` block. The gather thread calls all methods. Any thread may call a method if its
    docstring says so.
    """

    name: str

    def start(self, collector: CollectorId) -> None:
        """Start a collector. Once there is room, the message Placed follows, and then Started, Raised or Lost."""

    def put(self, snapshot: Any) -> Stored:
        """Store a snapshot of weights or of a normalization, with its digest. It is stored once for all collectors.

        Any thread may call this. The source of the snapshot may change once this returns.
        """

    def offer(self, collector: CollectorId, weights: Weights) -> None:
        """Offer newer weights to a collector. The newer weights replace the weights of earlier offers.

        The message Applied follows when the collector loads another version. The collector may skip versions that were
        replaced.
        """

    def submit(self, collector: CollectorId, request: Request, weights: Weights | None = None) -> None:
        """Request a rollout. The message Answer, Raised or Lost follows. A collector handles its requests in order.

        ``weights`` are sent with the request. If ``request.version`` is set, ``weights`` are the weights of this
        version. Otherwise ``weights`` are an offer.
        """

    def cut_short(self, collector: CollectorId, request_id: int) -> None:
        """Let a collector end a rollout early. The collector answers the request with the frames that it has."""

    def stop(self, collector: CollectorId) -> None:
        """End a collector, even during a rollout. After this returns, no message of the collector is delivered."""

    def wait(self, timeout: float) -> Sequence[Message]:
        """Block until there are messages, :meth:`wake` is called, or ``timeout`` seconds have passed.

        The result may be empty.
        """

    def wake(self) -> None:
        """Make :meth:`wait` return. Any thread may call this."""

    def close(self) -> None:
        """End all collectors."""


class FleetTransport(Transport, Protocol):
    """Further methods of a fleet's transport. Any thread may call them."""

    def ask(self, collector: CollectorId, method: str, *args: Any) -> Any:
        """Call a method of the collector's server between two rollouts.

        Does not block. Returns the argument for :meth:`answer`, or None if the collector was stopped.
        """

    def answer(self, asked: Any, timeout: float) -> Returned | Failed | None:
        """Block until the answer arrives. Return None if the collector is lost.

        Raises:
            TimeoutError: no answer arrives within ``timeout`` seconds.
        """

    def read(self, stored: Stored) -> Any:
        """Return the snapshot that :meth:`put` stored. The caller must not change the snapshot. Blocks during the read.

        Raises InfrastructureError if the snapshot is lost.
        """

    def seed_later_incarnations(self, seed: int) -> None:
        """From now on, seed environments when they are built. Each incarnation gets its own seed."""

    def handles(self) -> list[Any]:
        """Return the actors or processes of the collectors, in the order of their start."""
