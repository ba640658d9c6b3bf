"""Determine the version of the environment parameters for each frame of a rollout."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDictBase
from torch import Tensor

from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.parameters.environments import ParameterizedEnvironments
from collectorfleet.actor.parameters.leaf import Row
from collectorfleet.actor.parameters.parameter_setters import ParametersRefused
from collectorfleet.codec.frames import TRAJECTORY_KEY
from collectorfleet.messages import Parameters
from collectorfleet.parameters import Apply, EnvironmentParameters
from collectorfleet.torchrl_private.collectors import carrier_of


class ParameterStamps:
    """The parameters of a collector's environments, and the parameter versions of its frames.

    Parameters are offered only between two rollouts. So each row of a rollout has at most two versions. A row has the
    frames of one environment. Each environment counts its resets, and each reset begins a trajectory. One of these
    resets sets the newest version. From this reset on, the frames of the row have the newest version.
    """

    def __init__(self, collector: Any, options: EnvironmentParameters) -> None:
        self._collector = collector
        self._options = options
        self._environments: ParameterizedEnvironments | None = None
        self._newest = 0
        self._rows: list[Row] = []  # state before the rollout
        self._ids = torch.empty(0)  # the trajectory of each row before the rollout
        self.is_settled = True  # whether all rows have the newest version

    def offer(self, offered: Parameters) -> None:
        """Offer parameters to the environments.

        Raises:
            ParametersRefused: an environment has no way to set the parameters.
        """
        with calling(Origin.PARAMETERS):
            if self._environments is None:
                self._environments = ParameterizedEnvironments(self._collector.env, self._options)
            self._environments.offer(offered)
        self._newest = offered.version
        self.is_settled = self._options.apply == Apply.STEP

    def begin_rollout(self) -> None:
        """Store the parameter version and the resets of each environment before a rollout."""
        if not self.is_settled:
            self._rows = self._rows_now()
            self._ids = self._trajectories()

    def end_rollout(self, batch: TensorDictBase) -> int | Tensor:
        """Return the parameter version of the frames.

        The result is one number if all frames have the same version. Otherwise the result is a tensor with the version
        of each frame, int64 ``[*batch.shape]``.

        Raises:
            ParametersRefused: the number of resets differs from the number of trajectories, so the versions are
                uncertain. The method also raises this error if an environment in a separate process no longer has the
                parameters that were set.
        """
        if self.is_settled:
            if self._environments is not None and self._environments.has_processes:
                self._rows_now()  # raises if a reset has replaced the parameters
            return self._newest
        with calling(Origin.PARAMETERS):
            after = self._rows_now()
            ids = batch.get(TRAJECTORY_KEY).cpu().reshape(len(after), -1)
            now = self._trajectories().flatten()
            ordinals, begun = _ordinals(ids, self._ids.flatten(), now)
            versions = torch.empty_like(ordinals)
            for number, (before, row) in enumerate(zip(self._rows, after, strict=True)):
                _require_one_reset_each(number, row.resets - before.resets, int(begun[number]))
                newest_from = (
                    row.taken_at - before.resets if row.version != before.version else len(ordinals[number]) + 1
                )
                versions[number] = torch.where(ordinals[number] < newest_from, before.version, row.version)
        self.is_settled = all(row.version == self._newest for row in after)
        return versions.reshape(batch.shape)

    @property
    def oldest(self) -> int:
        """The oldest version that an environment still uses."""
        return self._newest if self.is_settled else min(row.version for row in self._rows_now())

    def _rows_now(self) -> list[Row]:
        rows = [] if self._environments is None else self._environments.rows()
        failure = next((row.failure for row in rows if row.failure), None)
        if failure is not None:
            with calling(Origin.PARAMETERS):
                raise ParametersRefused(failure)
        return rows

    def _trajectories(self) -> Tensor:
        ids: Tensor = carrier_of(self._collector).get(TRAJECTORY_KEY)
        return ids.cpu().clone()


def _ordinals(ids: Tensor, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each frame how many trajectories began in its row up to this frame, int64 ``[rows, steps]``.

    Also return how many trajectories began in each row, int64 ``[rows]``. This number includes a trajectory that begins
    with the first frame of the next rollout. Frames with the id -1 are padding of a rollout that was cut short, and do
    not count. ``before`` and ``after`` have the trajectory id of each row before and after the rollout.
    """
    ordinals = torch.empty_like(ids)
    begun = torch.empty(len(ids), dtype=torch.int64)
    for row, frames in enumerate(ids):
        count, last = 0, int(before[row])
        for step, one in enumerate(frames.tolist()):
            if one not in (-1, last):
                count, last = count + 1, one
            ordinals[row, step] = count
        begun[row] = count + (int(after[row]) != last)
    return ordinals, begun


def _require_one_reset_each(row: int, resets: int, trajectories: int) -> None:
    if resets != trajectories:
        raise ParametersRefused(
            f"environment {row} was reset {resets} times for {trajectories} trajectories in one rollout, so the "
            "parameters of its frames are unknown. Reset an environment only at the start of an episode, or use "
            "apply='step'"
        )
