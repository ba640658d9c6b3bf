"""Options of the evaluation of published versions, an argument of :class:`~collectorfleet.FleetCollector`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import torch
from torchrl.envs.utils import ExplorationType

from collectorfleet import option_types
from collectorfleet.actor.simulator.options import SimulatorProcess
from collectorfleet.errors import InvalidOption
from collectorfleet.evaluation.state.schedule import Interval
from collectorfleet_api.counts import counted

_DEFAULT_EVERY_VERSIONS: Final = 10
_LARGEST_SEED: Final = 2**31 - 1
_MOST_RECORDED: Final = 5


@dataclass(frozen=True)
class Video:
    """Options for videos of evaluation episodes, see :meth:`~collectorfleet.FleetCollector.videos`.

    The videos are animated WebP files.

    Args:
        episodes: the number of recorded episodes of an evaluation, from 1 to 5. The episodes with the first seeds are
            recorded.
        every_evaluations: the interval between recorded evaluations. The first evaluation is recorded, and with 5
            also the 6th and the 11th. The count includes failed evaluations and continues after a resume. An evaluation
            that begins after the end of the run is recorded as well.
        pixel_key: the entry of the observations that is recorded. None: the result of ``render()`` of the evaluation
            environment, which needs ``render_mode="rgb_array"`` in Gymnasium.

    Raises:
        InvalidOption: a value that cannot work.
    """

    episodes: int = 1
    every_evaluations: int = 5
    pixel_key: str | None = None

    def __post_init__(self) -> None:
        option_types.check_fields(self, "evaluation.video.")
        if not 1 <= self.episodes <= _MOST_RECORDED:
            raise InvalidOption(f"evaluation.video.episodes: {self.episodes} is not from 1 to {_MOST_RECORDED}")
        if self.every_evaluations <= 0:
            raise InvalidOption(f"evaluation.video.every_evaluations: {self.every_evaluations} is not above 0")


@dataclass(frozen=True)
class Evaluation:
    """Options for evaluators: separate actors that play whole episodes while the fleet trains.

    An evaluation plays exactly one published version, and never delays a batch. A version that becomes due during
    another evaluation waits. If a newer version becomes due, it replaces the waiting version, which counts as skipped.
    The last version of a run is evaluated as well.

    Args:
        replicas: the number of evaluators. It does not affect the results.
        create_env_fn: builds the environment. None: the collectors' environment, one for each evaluator. A factory that
            takes ``collector_index`` gets 0 in every evaluator.
        create_env_kwargs: arguments of ``create_env_fn``. Without ``create_env_fn`` they override the collectors'
            arguments, key by key.
        process: the simulator that each evaluator starts. None: the collectors' simulator if ``create_env_fn`` is None,
            otherwise no simulator.
        exploration_type: how actions are taken from the policy's distribution.
        every_versions: every version that is a multiple of this number is due. The default is 10 if no interval is
            given.
        every_seconds: the seconds between two due versions.
        every_frames: the number of frames handed out between two due versions.
        episodes: the number of episodes of one evaluation. The episodes that started first count, and each of them is
            played to its end.
        seeds: the seeds of the episodes, in order, from 0 to 2**31 - 1. Once all are used, further seeds are derived
            from them.
        timeout: the time limit of one evaluation. A longer evaluation fails.
        stop_at_return: the iteration ends once an evaluation has this mean return.
        keep_best: keep the weights of the version with the highest mean return, see
            :meth:`~collectorfleet.FleetCollector.best_weights`.
        video: options for the recorded episodes. None: no episode is recorded.
        device: the device of the environment and the policy. None: the device of the built environment, else the CPU.
        threads: threads of torch in an evaluator.
        remote_config: options of the evaluators' Ray actors. None: ``{"num_cpus": 0}``, so that evaluators take no CPUs
            from collectors.

    Raises:
        InvalidOption: a value that cannot work.
    """

    replicas: int = 1
    create_env_fn: Callable[..., Any] | None = None
    create_env_kwargs: Mapping[str, Any] | None = None
    process: SimulatorProcess | None = None
    exploration_type: ExplorationType | None = ExplorationType.DETERMINISTIC
    every_versions: int | None = None
    every_seconds: float | None = None
    every_frames: int | None = None
    episodes: int = 10
    seeds: Sequence[int] = (0,)
    timeout: timedelta = timedelta(minutes=10)
    stop_at_return: float | None = None
    keep_best: bool = False
    video: Video | None = None
    device: torch.device | str | int | None = None
    threads: int = 1
    remote_config: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        option_types.check_fields(self, "evaluation.")
        for name in ("replicas", "every_versions", "every_seconds", "every_frames", "episodes", "threads"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InvalidOption(f"evaluation.{name}: {value} is not above 0")
        given = [name for name in ("every_versions", "every_seconds", "every_frames") if getattr(self, name)]
        if len(given) > 1:
            raise InvalidOption(f"evaluation: {' and '.join(given)} exclude each other; keep one of them")
        if not self.seeds:
            raise InvalidOption("evaluation.seeds: the list is empty; give at least one seed, such as 0")
        for seed in self.seeds:
            if not 0 <= seed <= _LARGEST_SEED:
                raise InvalidOption(f"evaluation.seeds: {seed} is not from 0 to {_LARGEST_SEED}")
        repeated = next((seed for seed in self.seeds if list(self.seeds).count(seed) > 1), None)
        if repeated is not None:
            raise InvalidOption(
                f"evaluation.seeds: {repeated} appears twice, so its episodes would count twice; give each seed once"
            )
        if self.video is not None and self.video.episodes > self.episodes:
            raise InvalidOption(
                f"evaluation.video.episodes: {self.video.episodes} is more than the "
                f"{counted(self.episodes, 'episode')} of an evaluation; record fewer, or play more"
            )
        if self.timeout <= timedelta(0):
            raise InvalidOption(f"evaluation.timeout: {self.timeout} is not above 0")

    @property
    def interval(self) -> Interval:
        """The interval between two evaluations."""
        if self.every_seconds is not None:
            return Interval(seconds=float(self.every_seconds))
        if self.every_frames is not None:
            return Interval(frames=self.every_frames)
        return Interval(versions=self.every_versions or _DEFAULT_EVERY_VERSIONS)
