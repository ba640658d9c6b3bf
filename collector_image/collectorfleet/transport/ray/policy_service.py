"""A collector's way to a policy that is an actor of Ray's: TorchRL's inference service, which all collectors ask."""

from __future__ import annotations

from typing import Any

import ray

from collectorfleet.errors import PolicyServiceLost
from collectorfleet.transport.ray.faults import cause_of


class PolicyClient:
    """The policy of one incarnation of a collector: asks the service for actions. Travels pickled."""

    def __init__(self, service: Any) -> None:
        """``service`` is an ``InferenceServer(service_backend="ray")``. Raises PolicyServiceLost.

        Blocks for a call of the service's actor.
        """
        try:
            # Its own: answers come back through it.
            self._client = service.client()
        except ray.exceptions.RayActorError as error:
            raise PolicyServiceLost.because(cause_of(error)) from error

    def __call__(self, observed: Any) -> Any:
        """What the service's policy makes of ``observed``. Raises what the policy raised, or PolicyServiceLost."""
        try:
            return self._client(observed)
        except Exception as error:
            lost = _end_of_an_actor(error)
            if lost is None:
                raise
            raise PolicyServiceLost.because(cause_of(lost)) from error


def _end_of_an_actor(error: BaseException | None) -> ray.exceptions.RayActorError | None:
    """Why an actor is gone, where that is what ``error`` came of."""
    # The queues to and from the service end with it, and say so in words of their own.
    while error is not None and not isinstance(error, ray.exceptions.RayActorError):
        error = error.__cause__
    return error
