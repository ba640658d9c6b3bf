"""Options for the evaluation of published versions.

:class:`~collectorfleet.FleetCollector` takes them as an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Final

from torchrl.envs.utils import ExplorationType

from collectorfleet import option_types
from collectorfleet.actor.simulator.options import SimulatorProcess
from collectorfleet.devices import Device
from collectorfleet.errors import InvalidOption
from collectorfleet.evaluation.state.schedule import Interval
from collectorfleet.option_ranges import Finite, NotEmpty, Positive, Range, Seconds, Threads, Timeout
from collectorfleet_api.counts import counted

_DEFAULT_EVERY_VERSIONS: Final = 10
_LARGEST_SEED: Final = 2**31 - 1
_MOST_RECORDED: Final = 5
_MOST_EVALUATORS: Final = 100
_MOST_EPISODES: Final = 100_000


@dataclass(frozen=True)
class Video:
    """Options for videos of evaluation episodes, see :meth:`~collectorfleet.FleetCollector.videos`.

    The videos are animated WebP files.

    Args:
        episodes: how many episodes of an evaluation are recorded, from 1 to 5. The episodes with the first seeds are
            recorded.
        every_evaluations: the interval between recorded evaluations. With 5, the 1st, the 6th and the 11th evaluation
            are recorded. The count includes failed evaluations, and continues after a resume. The evaluation that
            begins after the end of training is recorded even if the interval does not select it.
        pixel_key: the entry of the observations that is recorded. None: the result of the environment's ``render()`` is
            recorded. An environment of Gymnasium needs ``render_mode="rgb_array"`` for this.

    Raises:
        InvalidOption: a value is invalid.
    """

    episodes: Annotated[int, Range(least=1, most=_MOST_RECORDED)] = 1
    every_evaluations: Positive = 5
    pixel_key: Annotated[str, NotEmpty("pixels")] | None = None

    def __post_init__(self) -> None:
        option_types.check_fields(self, "evaluation.video.")


@dataclass(frozen=True)
class Evaluation:
    """Options for evaluators. Evaluators are separate actors that run whole episodes during training.

    An evaluation uses exactly one published version of the weights, and never delays a batch. If a version becomes due
    during an evaluation, the version waits until that evaluation ends. If a newer version becomes due, the newer
    version replaces the waiting version. The replaced version counts as skipped. The last version of a run is always
    evaluated.

    Args:
        replicas: the number of evaluators. The number does not affect the results.
        create_env_fn: a function that builds the environment of an evaluator. None: the collectors' function. If the
            function has a parameter ``collector_index``, each evaluator passes 0.
        create_env_kwargs: arguments of ``create_env_fn``. If ``create_env_fn`` is None, they are arguments of the
            collectors' function. In this case, an argument given here replaces the collectors' argument of the same
            name.
        process: the simulator that each evaluator starts. None: evaluators start the collectors' simulator,
            or no simulator if ``create_env_fn`` is given.
        exploration_type: how the policy chooses an action from its distribution.
        every_versions: a version is due if its number is a multiple of this number. If none of the three intervals is
            given, the default is 10.
        every_seconds: the interval between two due versions, in seconds.
        every_frames: the interval between two due versions, in frames that were handed out to the training function.
        episodes: the number of episodes of one evaluation. The episodes with the first seeds count, even if other
            episodes end earlier. Every episode runs to its end.
        seeds: the seeds of the episodes, in order. A seed is from 0 to 2**31 - 1. If there are more episodes than
            seeds, further seeds are derived from these seeds.
        timeout: the time limit of one evaluation. An evaluation that takes longer fails.
        stop_at_return: the iteration over batches ends as soon as the mean return of an evaluation is at least this
            number. None: no mean return ends the iteration.
        keep_best: whether the weights of the version with the highest mean return are kept in memory, see
            :meth:`~collectorfleet.FleetCollector.best_weights`.
        video: options for the recorded episodes. None: no episode is recorded.
        device: the device of the environment and the policy. None: the device of the built environment, or the CPU if
            the environment has no device.
        threads: the number of torch's threads in an evaluator.
        remote_config: options of the evaluators' Ray actors. None: ``{"num_cpus": 0}``, so that evaluators take no CPUs
            from collectors.

    Raises:
        InvalidOption: a value is invalid, or two options exclude each other.
    """

    replicas: Annotated[int, Range(least=1, most=_MOST_EVALUATORS)] = 1
    create_env_fn: Callable[..., Any] | None = None
    create_env_kwargs: Mapping[str, Any] | None = None
    process: SimulatorProcess | None = None
    exploration_type: ExplorationType | None = ExplorationType.DETERMINISTIC
    every_versions: Positive | None = None
    every_seconds: Seconds | None = None
    every_frames: Positive | None = None
    episodes: Annotated[int, Range(least=1, most=_MOST_EPISODES)] = 10
    seeds: Sequence[Annotated[int, Range(least=0, most=_LARGEST_SEED)]] = (0,)
    timeout: Timeout = timedelta(minutes=10)
    stop_at_return: Finite | None = None
    keep_best: bool = False
    video: Video | None = None
    device: Device | None = None
    threads: Threads = 1
    remote_config: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        option_types.check_fields(self, "evaluation.")
        given = [name for name in ("every_versions", "every_seconds", "every_frames") if getattr(self, name)]
        if len(given) > 1:
            raise InvalidOption(f"evaluation: {' and '.join(given)} exclude each other; keep one of them")
        if not self.seeds:
            raise InvalidOption("evaluation.seeds: the list is empty; give at least one seed, such as 0")
        repeated = next((seed for seed in self.seeds if list(self.seeds).count(seed) > 1), None)
        if repeated is not None:
            raise InvalidOption(
                f"evaluation.seeds: {repeated} appears twice, so its episodes would count twice; give each seed once"
            )
        if self.video is not None and self.video.episodes > self.episodes:
            raise InvalidOption(
                f"evaluation.video.episodes: {self.video.episodes} is more than the "
                f"{counted(self.episodes, 'episode')} of an evaluation; use at most {self.episodes}, or raise "
                "evaluation.episodes"
            )

    @property
    def interval(self) -> Interval:
        """The interval between two evaluations."""
        if self.every_seconds is not None:
            return Interval(seconds=float(self.every_seconds))
        if self.every_frames is not None:
            return Interval(frames=self.every_frames)
        return Interval(versions=self.every_versions or _DEFAULT_EVERY_VERSIONS)
