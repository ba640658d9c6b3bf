"""A recorder of CUDA graphs that needs no GPU."""

from __future__ import annotations

from collections.abc import Callable

from collectorfleet.actor.rollout import recording

RECORDED = {"cudagraph_policy": True}


class Pretended:
    """Replays by calling again; nothing is computed when it is recorded, and results are written to the same place."""

    def __init__(self, call: Callable[[], recording.Values]) -> None:
        self._call = call
        self._made: recording.Values | None = None
        self.replays = 0

    def replay(self) -> recording.Values:
        self.replays += 1
        made = self._call()
        if self._made is None:
            self._made = {key: tensor.clone() for key, tensor in made.items()}
        for key, tensor in made.items():
            self._made[key].copy_(tensor)
        return self._made
