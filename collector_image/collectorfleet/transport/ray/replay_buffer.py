"""The connection of a collector to a replay buffer in a Ray actor, and the check whether that actor lives.

An error of the buffer's code is the user's error. The loss of its actor is no user error, and does not restart the
collector.
"""

from __future__ import annotations

from typing import Any

import ray

from collectorfleet.errors import CollectorFleetError, ReplayBufferLost
from collectorfleet.transport.ray.faults import cause_of


class BufferClient:
    """The replay buffer of one incarnation of a collector. It can be pickled."""

    def __init__(self, buffer: Any) -> None:
        """Connect to ``buffer``, a ``ReplayBuffer(service_backend="ray")`` or a compatible object.

        With ``transport="distributed"``, blocks for a call of the buffer's actor. Raises ReplayBufferLost.
        """
        try:
            # Each collector needs its own client. With transport="distributed" it is a connection, which cannot be
            # shared.
            self._client = buffer.client()
        except ray.exceptions.RayActorError as error:
            raise ReplayBufferLost.because(cause_of(error)) from error

    def extend(self, frames: Any) -> None:
        """Write ``frames``, ``[frames]``. Raises the error of the buffer's code, or ReplayBufferLost."""
        try:
            self._client.extend(frames)
        except ray.exceptions.RayActorError as error:
            raise ReplayBufferLost.because(cause_of(error)) from error
        except ray.exceptions.RayTaskError as error:
            raise own_error(error) from None
        except CollectorFleetError:
            raise  # it already names the cause
        except Exception as error:
            # Outside of Ray, the end of the actor appears as a broken connection of any error class.
            lost = loss_of(self._client)
            if lost is None:
                raise
            raise lost from error


def own_error(error: Exception) -> Exception:
    """Return the error that the buffer's code raised, if ``error`` is Ray's wrapper of it."""
    cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else None
    return cause if isinstance(cause, Exception) else error


def loss_of(buffer: Any) -> ReplayBufferLost | None:
    """Return why the actor of ``buffer``, or of its client, is gone, or None. Blocks until the actor answers."""
    try:
        # This attribute calls the actor through Ray, even if frames travel another way.
        _ = buffer.dim_extend
    except ray.exceptions.RayActorError as error:
        return ReplayBufferLost.because(cause_of(error))
    return None
