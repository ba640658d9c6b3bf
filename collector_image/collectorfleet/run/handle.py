"""``Run``: what a training function gets beside the collector."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from collectorfleet.errors import InvalidOption

if TYPE_CHECKING:
    from torchrl.record.loggers import Logger

    from collectorfleet.evaluation.result import EvaluationResult
    from collectorfleet.run.spec_learners.run_learners import RunLearners

# A status has to stay small: it is one object in the API server.
MOST_METRICS: Final = 100
LONGEST_NAME: Final = 100


class Run:
    """The run that a training function is part of.

    ``train(collector, run, **kwargs)`` reports numbers with :meth:`report` and returns when it is done. What it keeps
    with :meth:`keep` outlives its driver.
    """

    def __init__(
        self,
        stop_requested: Callable[[], bool] = lambda: False,
        keep: Callable[[Mapping[str, Any]], bool] = lambda _objects: False,
        checkpoint: Callable[[], bool] = lambda: False,
        log: Callable[[Mapping[str, float]], None] = lambda _metrics: None,
    ) -> None:
        """What it is made of by default is a run without checkpoints and loggers that nobody stops."""
        self._stop_requested = stop_requested
        self._keep = keep
        self._checkpoint = checkpoint
        self._log = log
        self._started = time.monotonic()
        self._metrics: Mapping[str, float] = {}
        self._learners: RunLearners | None = None
        self._evaluations: Callable[[], list[EvaluationResult]] | None = None

    def report(self, **metrics: Any) -> None:
        """Show numbers in ``status.progress.metrics``, the newest value of each name; ``driver.log`` gets them all.

        Takes what ``float()`` takes, tensors of one element too. Returns at once; the status follows within 2 s.

        Raises:
            TypeError: a value is no number.
            ValueError: more than 100 names, or one of more than 100 characters.
        """
        numbers = {name: _number(name, value) for name, value in metrics.items()}
        merged = {**self._metrics, **numbers}
        if len(merged) > MOST_METRICS:
            raise ValueError(
                f"run.report: {len(merged)} metrics are too many for a status; report at most {MOST_METRICS} names"
            )
        longest = max(merged, key=len, default="")
        if len(longest) > LONGEST_NAME:
            raise ValueError(
                f"run.report: {longest[:20]}... is a name of {len(longest)} characters; use at most {LONGEST_NAME}"
            )
        self._metrics = merged  # one assignment: the reporter reads from another thread
        self._log(numbers)

    def keep(self, **objects: Any) -> bool:
        """Put objects into the run's checkpoints, and their states back at once where there is a checkpoint.

        Takes what has ``state_dict()`` and ``load_state_dict()`` (modules, optimizers, schedulers, replay buffers), and
        dicts, lists and deques, which are refilled in place. ``collector.policy`` is kept without being named. A
        checkpoint is written when the next batch is asked for, at most every ``driver.checkpoint.everySeconds``, and
        when the function returns.

        Returns whether the states came from a checkpoint; False without ``driver.checkpoint``.

        Raises:
            TypeError: an object cannot be put back in place, such as a number; keep a dict that holds it.
            ValueError: the name is another object's, or the checkpoint has some of the names and not the others.
            UserCodeError: what the checkpoint has does not fit the object.
        """
        return self._keep(objects)

    def checkpoint(self) -> bool:
        """Write a checkpoint now: all frames handed out so far count as worked off.

        Blocks; returns whether it is on disk: False without ``driver.checkpoint``, or when the disk refuses it, which
        the log and ``status.checkpoint`` then say.
        """
        return self._checkpoint()

    def logger(self) -> Logger:
        """A logger of TorchRL's, such as its trainers take: the scalars that it gets are reported."""
        from collectorfleet.run.log.report_logger import ReportLogger

        return ReportLogger(self.report)

    def evaluations(self) -> list[EvaluationResult]:
        """Return the results of ``spec.evaluation`` so far, in the order in which evaluations ended.

        A run that was resumed has those since it was resumed.

        Raises InvalidOption in a fleet without an evaluation.
        """
        if self._evaluations is None:
            raise InvalidOption("run.evaluations: the fleet has none; add spec.evaluation")
        return self._evaluations()

    def evaluates_with(self, evaluations: Callable[[], list[EvaluationResult]]) -> None:
        """What :meth:`evaluations` returns from now on."""
        self._evaluations = evaluations

    @property
    def learners(self) -> RunLearners:
        """The policies of ``spec.learners``: iterate over ``learners.shards``, and call ``learners.feed.publish``.

        Raises InvalidOption in a fleet without them.
        """
        if self._learners is None:
            raise InvalidOption("run.learners: the fleet has none; name them in spec.learners")
        return self._learners

    def learns_with(self, learners: RunLearners) -> None:
        """What :attr:`learners` is from now on."""
        self._learners = learners

    @property
    def metrics(self) -> Mapping[str, float]:
        """The newest value of each reported name."""
        return self._metrics

    @property
    def stop_requested(self) -> bool:
        """True once somebody wants the run to end. The collector's iteration then ends with the batch in hand; a
        function that works for long between batches may look here."""
        return self._stop_requested()

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._started


def _number(name: str, value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError(f"run.report: {name}={value!r} is a {type(value).__name__}, not a number")
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"run.report: {name} is a {type(value).__name__}, not a number: {error}") from error
    return number
