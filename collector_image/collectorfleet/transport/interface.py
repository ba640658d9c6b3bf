"""What the gather thread asks of a transport. What comes back is in :mod:`collectorfleet.messages`.

``tests/contract`` holds what every transport has to do, whatever carries the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol

from collectorfleet.messages import CollectorId, Failed, Message, Request, Returned, Stored, Weights


class TransportKind(StrEnum):
    """By what a fleet may be carried."""

    OBJECT_STORE = "object_store"
    TORCH_DISTRIBUTED = "torch_distributed"
    RPC = "rpc"


class Transport(Protocol):
    """Carries what the driver says out, and what collectors say in.

    Only :meth:`put` and :meth:`wait` block; the gather thread alone calls the others, unless they say any thread.
    """

    name: str

    def start(self, collector: CollectorId) -> None:
        """Make a collector; Placed follows once there is room for it, and then Started, Raised or Lost."""

    def put(self, snapshot: Any) -> Stored:
        """Store a snapshot of weights, or of a normalization, once for all collectors, with its digest. Any thread.

        What the snapshot was taken of may change when this returns.
        """

    def offer(self, collector: CollectorId, weights: Weights) -> None:
        """Tell a collector that there are weights, newer ones than it was offered before, which they replace.

        Applied follows whenever the collector loaded another version; a version that was replaced is left out.
        """

    def submit(self, collector: CollectorId, request: Request, weights: Weights | None = None) -> None:
        """Ask for a rollout; Answer, Raised or Lost follows. A collector works off its requests in order.

        ``weights`` go along: those of ``request.version``, if it asks for exactly one, else an offer.
        """

    def cut_short(self, collector: CollectorId, request_id: int) -> None:
        """Tell a collector to answer a request with what it has."""

    def stop(self, collector: CollectorId) -> None:
        """End a collector, whatever it does; no message of it is delivered after this returns."""

    def wait(self, timeout: float) -> Sequence[Message]:
        """Block until there are messages, :meth:`wake` is called, or ``timeout`` seconds passed; may return none."""

    def wake(self) -> None:
        """Make :meth:`wait` return; any thread may call it."""

    def close(self) -> None:
        """End all collectors."""


class FleetTransport(Transport, Protocol):
    """What a fleet asks beside its gather thread. Any thread may call these."""

    def ask(self, collector: CollectorId, method: str, *args: Any) -> Any:
        """Call a method of the collector's server, between two rollouts.

        Returns at once what :meth:`answer` takes; None if the collector was stopped.
        """

    def answer(self, asked: Any, timeout: float) -> Returned | Failed | None:
        """Block until the answer is there; None if the collector is lost.

        Raises:
            TimeoutError: there is none within ``timeout`` seconds.
        """

    def read(self, stored: Stored) -> Any:
        """Return the snapshot that :meth:`put` stored; not to be written to. Blocks while it is read.

        Raises InfrastructureError: it is lost.
        """

    def seed_later_incarnations(self, seed: int) -> None:
        """From now on environments are seeded when they are built, each incarnation with a seed of its own."""

    def handles(self) -> list[Any]:
        """What runs the collectors, in the order of their start."""
