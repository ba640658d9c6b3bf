"""A collector's way to a replay buffer that is an actor of Ray's, and whether that actor is still there.

An error of the buffer's own code is the user's error. The loss of its actor is no error of the user, and no reason to
replace a collector.
"""

from __future__ import annotations

from typing import Any

import ray

from collectorfleet.errors import CollectorFleetError, ReplayBufferLost
from collectorfleet.transport.ray.faults import cause_of


class BufferClient:
    """What one incarnation of a collector writes to. Travels pickled."""

    def __init__(self, buffer: Any) -> None:
        """``buffer`` is a ``ReplayBuffer(service_backend="ray")``, or what looks like one. Raises ReplayBufferLost.

        Blocks for a call of the buffer's actor where frames travel past Ray (``transport="distributed"``).
        """
        try:
            # Its own: with transport="distributed" a client is a connection, which two collectors cannot share.
            self._client = buffer.client()
        except ray.exceptions.RayActorError as error:
            raise ReplayBufferLost.because(cause_of(error)) from error

    def extend(self, frames: Any) -> None:
        """Write ``frames``, ``[frames]``. Raises what the buffer's own code raised, or ReplayBufferLost."""
        try:
            self._client.extend(frames)
        except ray.exceptions.RayActorError as error:
            raise ReplayBufferLost.because(cause_of(error)) from error
        except ray.exceptions.RayTaskError as error:
            raise own_error(error) from None
        except CollectorFleetError:
            raise  # by one of ours, which knows what happened
        except Exception as error:
            # Past Ray the end of the actor is a broken connection, of whatever kind.
            lost = loss_of(self._client)
            if lost is None:
                raise
            raise lost from error


def own_error(error: Exception) -> Exception:
    """What the buffer's own code raised in its actor, where ``error`` is Ray's around it."""
    cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else None
    return cause if isinstance(cause, Exception) else error


def loss_of(buffer: Any) -> ReplayBufferLost | None:
    """Why the actor of ``buffer`` (or of a client of it) is gone; None while it answers, which this waits for."""
    try:
        # A call of the actor itself, whatever way frames take.
        _ = buffer.dim_extend
    except ray.exceptions.RayActorError as error:
        return ReplayBufferLost.because(cause_of(error))
    return None
