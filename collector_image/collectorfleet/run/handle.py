"""Define ``Run``, the second argument of a training function."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from collectorfleet.errors import InvalidOption, with_article

if TYPE_CHECKING:
    from torchrl.record.loggers import Logger

    from collectorfleet.evaluation.result import EvaluationResult
    from collectorfleet.run.spec_learners.run_learners import RunLearners

# The status is part of one API object, whose size is limited.
MOST_METRICS: Final = 100
LONGEST_NAME: Final = 100


class Run:
    """The run to which a training function belongs.

    ``train(collector, run, **kwargs)`` reports numbers with :meth:`report`, and returns at the end of training. Objects
    that the function registers with :meth:`keep` survive a restart of the driver.
    """

    def __init__(
        self,
        stop_requested: Callable[[], bool] = lambda: False,
        keep: Callable[[Mapping[str, Any]], bool] = lambda _objects: False,
        checkpoint: Callable[[], bool] = lambda: False,
        log: Callable[[Mapping[str, float]], None] = lambda _metrics: None,
    ) -> None:
        """By default, the run has no checkpoints, no loggers and no requests to stop."""
        self._stop_requested = stop_requested
        self._keep = keep
        self._checkpoint = checkpoint
        self._log = log
        self._started = time.monotonic()
        self._metrics: Mapping[str, float] = {}
        self._learners: RunLearners | None = None
        self._evaluations: Callable[[], list[EvaluationResult]] | None = None

    def report(self, **metrics: Any) -> None:
        """Report numbers to ``status.progress.metrics`` and to the loggers of ``driver.log``.

        The status shows the newest value of each name. Loggers get all values. A value is anything that ``float()``
        accepts, such as a tensor with one element. Returns at once. The status is updated within 2 s.

        Raises:
            TypeError: a value is not a number.
            ValueError: there are more than 100 names, or a name has more than 100 characters.
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
        """Register objects for the run's checkpoints, and restore their states at once if there is a checkpoint.

        Objects may be dicts, lists and deques, which are refilled in place. Other objects, such as modules, optimizers,
        schedulers and replay buffers, need ``state_dict()`` and ``load_state_dict()``. ``collector.policy`` is
        registered automatically. A checkpoint is written when the function returns. Checkpoints are also written when
        the function requests the next batch, at most every ``driver.checkpoint.everySeconds``.

        Returns whether the states were restored from a checkpoint. Returns False without ``driver.checkpoint``.

        Raises:
            TypeError: an object cannot be restored in place, such as a number. Keep a dict that contains the number.
            ValueError: the name is used for another object, or the checkpoint has only some of the names.
            UserCodeError: the state in the checkpoint does not fit the object.
        """
        return self._keep(objects)

    def checkpoint(self) -> bool:
        """Write a checkpoint now. All frames delivered so far count as processed.

        Blocks until the write has ended, and returns whether the checkpoint is on disk. Returns False without
        ``driver.checkpoint``, and if the write fails. The log and ``status.checkpoint`` have the cause of a failure.
        """
        return self._checkpoint()

    def logger(self) -> Logger:
        """Return a TorchRL logger, for example for TorchRL's trainers. The logger passes scalars to :meth:`report`."""
        from collectorfleet.run.log.report_logger import ReportLogger

        return ReportLogger(self.report)

    def evaluations(self) -> list[EvaluationResult]:
        """Return the results of ``spec.evaluation`` so far, in the order in which evaluations ended.

        After a resume, the list begins with the first evaluation after the resume.

        Raises InvalidOption in a fleet without an evaluation.
        """
        if self._evaluations is None:
            raise InvalidOption("run.evaluations: the fleet has no evaluation; add spec.evaluation")
        return self._evaluations()

    def set_evaluations(self, evaluations: Callable[[], list[EvaluationResult]]) -> None:
        """Set the function that :meth:`evaluations` calls."""
        self._evaluations = evaluations

    @property
    def learners(self) -> RunLearners:
        """The learners of ``spec.learners``. Iterate over ``learners.shards``, and call ``learners.feed.publish``.

        Raises InvalidOption in a fleet without ``spec.learners``.
        """
        if self._learners is None:
            raise InvalidOption("run.learners: the fleet has no learners; set spec.learners")
        return self._learners

    def set_learners(self, learners: RunLearners) -> None:
        """Set :attr:`learners`."""
        self._learners = learners

    @property
    def metrics(self) -> Mapping[str, float]:
        """The newest value of each reported name."""
        return self._metrics

    @property
    def stop_requested(self) -> bool:
        """Whether there is a request to stop the run.

        The collector's iteration then ends after the current batch. A function with long steps between two batches can
        check this property.
        """
        return self._stop_requested()

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._started


def _number(name: str, value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError(f"run.report: {name}={value!r} is {with_article(type(value).__name__)}, not a number")
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"run.report: {name} is {with_article(type(value).__name__)}, not a number: {error}") from error
    return number
