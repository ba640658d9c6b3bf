"""Where collectors write frames that several policies learn from: to the replay actor of each, and to nobody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

from tensordict import TensorDictBase

from collectorfleet.errors import InfrastructureError, ReplayBufferLost
from collectorfleet.learners.calls import Deadline, answers

# From ``[frames]`` of a rollout to those of each policy, by its id.
Split = Callable[[TensorDictBase], Mapping[str, TensorDictBase]]


class FrameRouter:
    """What FleetCollector takes as ``replay_buffer``. Travels pickled; ``split`` is called in the collectors.

    A write is done when every replay actor has its part. One that is being built anew is waited for, for ``timeout``
    over all.
    """

    service_backend: Final = "ray"
    dim_extend: Final = 0  # as TorchRL's buffers say of frames that they are given

    def __init__(self, replays: Mapping[str, Any], split: Split, timeout: timedelta) -> None:
        self._replays = dict(replays)
        self._split = split
        self._timeout = timeout

    def client(self) -> FrameRouter:
        return self

    def extend(self, frames: TensorDictBase) -> None:
        """Send ``frames``, ``[frames]``, each to where its policy learns, and wait until they are stored.

        Raises:
            ValueError: ``split`` names a policy that is none of those that are fed.
            UserCodeError: a replay actor's own code raised.
            ReplayBufferLost: a replay actor is dead for good, or does not come back in time.
        """
        parts = {policy_id: part for policy_id, part in self._split(frames).items() if part.numel()}
        strange = sorted(parts.keys() - self._replays.keys())
        if strange:
            raise ValueError(f"split: the feed has no policy {', '.join(strange)}; it has {', '.join(self._replays)}")
        asks = {
            f"replay actor of policy {policy_id}": partial(self._replays[policy_id].extend.remote, policy_id, part)
            for policy_id, part in parts.items()
        }
        try:
            answers(asks, Deadline(self._timeout))
        except InfrastructureError as error:
            raise ReplayBufferLost.because(str(error)) from error
