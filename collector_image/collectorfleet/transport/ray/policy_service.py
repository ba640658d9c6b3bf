"""The connection of a collector to TorchRL's inference service.

The service is a Ray actor that computes the actions of all collectors.
"""

from __future__ import annotations

from typing import Any

import ray

from collectorfleet.errors import PolicyServiceLost
from collectorfleet.transport.ray.faults import cause_of


class PolicyClient:
    """The policy of one incarnation of a collector. It requests actions from the service, and can be pickled."""

    def __init__(self, service: Any) -> None:
        """Connect to ``service``, an ``InferenceServer(service_backend="ray")``.

        Blocks until a call of the service's actor returns. Raises PolicyServiceLost if the actor is lost.
        """
        try:
            # Each collector needs its own client, because the service sends answers through the client.
            self._client = service.client()
        except ray.exceptions.RayActorError as error:
            raise PolicyServiceLost.because(cause_of(error)) from error

    def __call__(self, observed: Any) -> Any:
        """Return the service's output for ``observed``. Raises the policy's error, or PolicyServiceLost."""
        try:
            return self._client(observed)
        except Exception as error:
            lost = _end_of_an_actor(error)
            if lost is None:
                raise
            raise PolicyServiceLost.because(cause_of(lost)) from error


def _end_of_an_actor(error: BaseException | None) -> ray.exceptions.RayActorError | None:
    """Return the first error of a dead actor among ``error`` and its causes, or None."""
    # The queues to and from the service end with its actor, and raise their own errors.
    while error is not None and not isinstance(error, ray.exceptions.RayActorError):
        error = error.__cause__
    return error
