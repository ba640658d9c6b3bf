"""Which parameters each frame of a rollout was made with."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDictBase
from torch import Tensor

from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.parameters.environments import ParameterizedEnvironments
from collectorfleet.actor.parameters.takers import ParametersRefused
from collectorfleet.codec.frames import TRAJECTORY_KEY
from collectorfleet.messages import Parameters
from collectorfleet.parameters import Apply, EnvironmentParameters


class ParameterStamps:
    """The parameters of a collector's environments, and what its frames say of them.

    Parameters change between two rollouts only. So each row of a rollout has at most two versions. The episode that
    began before the rollout has the older version, and each later episode has the newest.
    """

    def __init__(self, collector: Any, options: EnvironmentParameters) -> None:
        self._collector = collector
        self._options = options
        self._environments: ParameterizedEnvironments | None = None
        self._newest = 0
        self._rows: list[int] = []  # the version of each row before the rollout
        self._ids = torch.empty(0)  # the trajectory of each row before the rollout
        self.is_settled = True  # whether all rows have the newest

    def offer(self, offered: Parameters) -> None:
        """Have the environments take these.

        Raises:
            ParametersRefused: an environment has no way to take them.
        """
        with calling(Origin.PARAMETERS):
            if self._environments is None:
                self._environments = ParameterizedEnvironments(self._collector.env, self._options)
            self._environments.offer(offered)
        self._newest = offered.version
        self.is_settled = self._options.apply == Apply.STEP

    def begin_rollout(self) -> None:
        """The next rollout begins now."""
        if not self.is_settled:
            self._rows = self._versions()
            self._ids = self._trajectories()

    def end_rollout(self, batch: TensorDictBase) -> int | Tensor:
        """Return the version of all frames, or int64 ``[*batch.shape]`` if they differ.

        Raises:
            ParametersRefused: an episode began without a reset.
        """
        if self.is_settled:
            return self._newest
        after = self._versions()
        began = (self._trajectories() != self._ids).flatten().tolist()
        expected = [self._newest if new else row for new, row in zip(began, self._rows, strict=True)]
        if after != expected:
            row = next(index for index, version in enumerate(after) if version != expected[index])
            raise ParametersRefused(
                f"environment {row} of the collector began an episode without a reset that takes parameters: it has "
                f"version {after[row]}, and {expected[row]} was expected; use apply='step'"
            )
        self.is_settled = all(version == self._newest for version in after)
        before = torch.tensor(self._rows, dtype=torch.int64).reshape(self._ids.shape)
        ids = batch.get(TRAJECTORY_KEY).cpu()
        return torch.where(ids == self._ids.unsqueeze(-1), before.unsqueeze(-1), self._newest)

    @property
    def oldest(self) -> int:
        """The oldest version that an environment still has."""
        return self._newest if self.is_settled else min(self._versions())

    def _versions(self) -> list[int]:
        return [] if self._environments is None else self._environments.versions()

    def _trajectories(self) -> Tensor:
        ids: Tensor = self._collector._carrier.get(TRAJECTORY_KEY)
        return ids.cpu().clone()
