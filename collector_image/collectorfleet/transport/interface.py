"""What the gather loop asks of a transport. One page, no I/O; what comes back is in :mod:`collectorfleet.messages`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from collectorfleet.messages import Address, Event, Request, Stored, Weights


class Transport(Protocol):
    """Carries commands out and events in.

    Only :meth:`put` and :meth:`wait` block; the gather thread alone calls the others, unless they say any thread.
    """

    name: str

    def start(self, address: Address) -> None:
        """Make a collector; Started, Raised or Lost follows."""

    def put(self, snapshot: Any) -> Stored:
        """Store a snapshot of the weights once, for all collectors, and take its digest. Any thread.

        What the snapshot was taken of may change when this returns.
        """

    def offer(self, address: Address, weights: Weights) -> None:
        """Tell a collector that there are weights; Applied follows once it loaded these or newer ones."""

    def submit(self, address: Address, request: Request, weights: Weights | None = None) -> None:
        """Ask for a rollout; Finished, Raised or Lost follows. A collector works off its requests in order.

        ``weights`` are those of ``request.version``, if it asks for exactly one.
        """

    def cut_short(self, address: Address, request_id: int) -> None:
        """Tell a collector to answer a request with what it has."""

    def stop(self, address: Address) -> None:
        """End a collector, whatever it does; no event of it is delivered after this returns."""

    def wait(self, timeout: float) -> Sequence[Event]:
        """Block until there are events, :meth:`wake` is called, or ``timeout`` seconds passed; may return none."""

    def wake(self) -> None:
        """Make :meth:`wait` return; any thread may call it."""

    def close(self) -> None:
        """End all collectors."""
