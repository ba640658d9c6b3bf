"""Send the frames of collectors directly to the replay actor of each policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

from tensordict import TensorDictBase

from collectorfleet.errors import InfrastructureError, ReplayBufferLost
from collectorfleet.learners.calls import Deadline, answers

# A function from the ``[frames]`` of a rollout to the frames of each policy, by the policy's id.
Split = Callable[[TensorDictBase], Mapping[str, TensorDictBase]]


class FrameRouter:
    """The ``replay_buffer`` of FleetCollector. The router is pickled, and the collectors call ``split``.

    A write returns once every replay actor has stored its frames. If actors restart, the write waits for them, at most
    ``timeout`` in total.
    """

    service_backend: Final = "ray"
    dim_extend: Final = 0  # the same value as in TorchRL's buffers

    def __init__(self, replays: Mapping[str, Any], split: Split, timeout: timedelta) -> None:
        self._replays = dict(replays)
        self._split = split
        self._timeout = timeout

    def client(self) -> FrameRouter:
        return self

    def extend(self, frames: TensorDictBase) -> None:
        """Send ``frames`` of shape ``[frames]`` to the replay actors of their policies. Block until all are stored.

        Raises:
            ValueError: ``split`` returned frames for a policy that the feed does not have.
            UserCodeError: a replay actor's own code raised.
            ReplayBufferLost: a replay actor is dead, or does not restart in time.
        """
        parts = {policy_id: part for policy_id, part in self._split(frames).items() if part.numel()}
        strange = sorted(parts.keys() - self._replays.keys())
        if strange:
            raise ValueError(
                f"split: unknown policy {', '.join(strange)}; return frames of {', '.join(self._replays)} only"
            )
        asks = {
            f"replay actor of policy {policy_id}": partial(self._replays[policy_id].extend.remote, policy_id, part)
            for policy_id, part in parts.items()
        }
        try:
            answers(asks, Deadline(self._timeout))
        except InfrastructureError as error:
            raise ReplayBufferLost.because(str(error)) from error
