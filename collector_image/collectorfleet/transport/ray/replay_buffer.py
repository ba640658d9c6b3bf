"""Connect a collector to a replay buffer in a Ray actor, and check whether the actor is alive.

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

        With ``transport="distributed"``, blocks until a call of the buffer's actor returns. Raises ReplayBufferLost
        if the actor is lost.
        """
        try:
            # Each collector needs its own client. With transport="distributed", the client is a connection, which
            # collectors cannot share.
            self._client = buffer.client()
        except ray.exceptions.RayActorError as error:
            raise ReplayBufferLost.because(cause_of(error)) from error

    def extend(self, frames: Any) -> None:
        """Write ``frames`` of shape ``[frames]``. Raises the error of the buffer's code, or ReplayBufferLost."""
        try:
            self._client.extend(frames)
        except ray.exceptions.RayActorError as error:
            raise ReplayBufferLost.because(cause_of(error)) from error
        except ray.exceptions.RayTaskError as error:
            raise own_error(error) from None
        except CollectorFleetError:
            raise  # the error already names the cause
        except Exception as error:
            # Outside of Ray, the end of the actor appears as a broken connection. Its error may have any class.
            lost = loss_of(self._client)
            if lost is None:
                raise
            raise lost from error


def own_error(error: Exception) -> Exception:
    """Return the error of the buffer's code that Ray wrapped in ``error``. Return any other ``error`` unchanged."""
    cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else None
    return cause if isinstance(cause, Exception) else error


def loss_of(buffer: Any) -> ReplayBufferLost | None:
    """Return why the actor of a buffer or client is lost, or None if it is alive. Blocks until the actor answers."""
    try:
        # Reading this attribute calls the actor through Ray, even if frames are sent without Ray.
        _ = buffer.dim_extend
    except ray.exceptions.RayActorError as error:
        return ReplayBufferLost.because(cause_of(error))
    return None
