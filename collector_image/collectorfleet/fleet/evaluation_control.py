"""The methods of a fleet for evaluations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torchrl.collectors import BaseCollector

from collectorfleet.codec.snapshot import tensors_by_name
from collectorfleet.errors import InvalidOption
from collectorfleet.evaluation.loop import EvaluationLoop
from collectorfleet.evaluation.result import EpisodeVideo, EvaluationResult
from collectorfleet.fleet.engine import Engine
from collectorfleet.gather.consumer import Consumer


class EvaluationControl(BaseCollector):
    """The methods of :class:`~collectorfleet.FleetCollector` for evaluations."""

    _engine: Engine

    @abstractmethod
    def _publish_last(self) -> None:
        """If the fleet publishes automatically, publish the present policy.

        Block until the newest weights are published, but at most 10 s.
        """

    @property
    def _consumer(self) -> Consumer:
        return self._engine.consumer

    def evaluations(self) -> list[EvaluationResult]:
        """Return the results so far, in the order in which the evaluations ended. Any thread may call this method."""
        evaluation = self._evaluation
        with evaluation.changed:
            return list(evaluation.results)

    def videos(self) -> tuple[EpisodeVideo, ...]:
        """Return the videos of the newest recorded evaluation, see :class:`~collectorfleet.Video`.

        Any thread may call this method, also after ``shutdown()``. Earlier videos are not kept in memory.
        """
        evaluation = self._evaluation
        with evaluation.changed:
            return evaluation.state.videos.newest

    def take_videos(self, take: Callable[[Sequence[EpisodeVideo]], None]) -> None:
        """Set a function that is called with the videos of later evaluations. ``take`` must neither block nor raise."""
        self._evaluation.take_videos = take

    def best_weights(self) -> tuple[EvaluationResult, dict[str, Tensor]] | None:
        """Return the result with the highest mean return, and the weights of its version.

        Return None before the first result. The weights are the tensors that the fleet published, in the published
        dtypes. Their names are the names in ``named_parameters()`` and ``named_buffers()``. If layers share a tensor,
        the result has the tensor under its first name. Any thread may call this method, also after ``shutdown()``.

        Raises:
            InvalidOption: the option ``keep_best`` is false, or the fleet has no evaluation.
        """
        evaluation = self._evaluation
        if not evaluation.keeps_best:
            raise InvalidOption("best_weights: the fleet keeps no best weights; pass Evaluation(keep_best=True)")
        with evaluation.changed:
            best = evaluation.best
        if best is None:
            return None
        result, snapshot = best
        return result, tensors_by_name(snapshot)

    @property
    def evaluates(self) -> bool:
        """Whether the fleet evaluates published versions."""
        return self._engine.evaluation is not None

    def evaluation_state(self) -> dict[str, Any]:
        """Return counts, the newest and the best result, and the best weights if they are kept."""
        return self._evaluation.state_dict()

    def load_evaluation_state(self, state: Mapping[str, Any]) -> None:
        """Continue from the result of :meth:`evaluation_state`. An empty state changes nothing."""
        if state:
            self._evaluation.load_state_dict(state)

    def finish_evaluation(
        self, timeout: float | None = None, *, stop_requested: Callable[[], bool] = lambda: False
    ) -> bool:
        """Evaluate the present policy as the last version of the run, and block until the evaluation ends.

        The iteration calls this method at its end. Returns whether the evaluation finished in time. The method stops
        waiting after ``timeout`` seconds (None: no limit), or if ``stop_requested`` returns True. It also stops waiting
        if the evaluation exceeds its own timeout, or if no evaluator has been available for ``first_request_timeout``.

        Raises UserCodeError if the environment or the policy of an evaluator raised an error.
        """
        evaluation = self._engine.evaluation
        if evaluation is None:
            return True
        if self._consumer.over:
            self._consumer.raise_if_failed()
            return evaluation.is_finished
        self._publish_last()
        finished = evaluation.finish(timeout, stop_requested)
        self._consumer.raise_if_failed()
        return finished

    @property
    def _evaluation(self) -> EvaluationLoop:
        if self._engine.evaluation is None:
            raise InvalidOption("evaluations: the fleet has no evaluation; pass evaluation=Evaluation(...)")
        return self._engine.evaluation

    def _results_after(self, version: int) -> list[EvaluationResult]:
        """Return the results of the versions after ``version``, sorted by version.

        This includes a result loaded from a checkpoint.
        """
        evaluation = self._engine.evaluation
        if evaluation is None:
            return []
        with evaluation.changed:
            newest = evaluation.state.newest
            found = {result.version: result for result in (newest, *evaluation.results) if result is not None}
        return [found[one] for one in sorted(found) if one > version]
