"""Methods of a fleet for its evaluations."""

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
    """Methods of :class:`~collectorfleet.FleetCollector` for evaluations."""

    _engine: Engine

    @abstractmethod
    def _publish_last(self) -> None:
        """Publish the present policy if the fleet publishes automatically. Block until the policy is published."""

    @property
    def _consumer(self) -> Consumer:
        return self._engine.consumer

    def evaluations(self) -> list[EvaluationResult]:
        """Return the results so far, in the order in which evaluations ended. Any thread may call this method."""
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
        """Set a function that is called with the videos of each later evaluation. ``take`` must not block or raise."""
        self._evaluation.take_videos = take

    def best_weights(self) -> tuple[EvaluationResult, dict[str, Tensor]] | None:
        """Return the result with the highest mean return, and its weights; None before the first result.

        The tensors are the ones that collectors load, in the published dtypes, by the names of ``named_parameters()``
        and ``named_buffers()``. A tensor that layers share has its first name. Any thread may call this method, also
        after ``shutdown()``.

        Raises:
            InvalidOption: the evaluation keeps no weights.
        """
        evaluation = self._evaluation
        if not evaluation.keeps_best:
            raise InvalidOption("best_weights: pass Evaluation(keep_best=True)")
        with evaluation.changed:
            best = evaluation.best
        if best is None:
            return None
        result, snapshot = best
        return result, tensors_by_name(snapshot)

    @property
    def evaluates(self) -> bool:
        """Whether published versions are evaluated."""
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

        The end of the iteration calls this method. Returns whether the evaluation finished in time. These limits end
        the wait: ``timeout`` seconds, ``stop_requested`` returning True, and the timeout of the evaluation itself.

        Raises UserCodeError if the environment or the policy of an evaluator raised.
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
            raise InvalidOption("evaluations: pass evaluation=Evaluation(...)")
        return self._engine.evaluation

    def _results_after(self, version: int) -> list[EvaluationResult]:
        """Return the results of versions newer than ``version``, in order. The result of a checkpoint is included."""
        evaluation = self._engine.evaluation
        if evaluation is None:
            return []
        with evaluation.changed:
            newest = evaluation.state.newest
            found = {result.version: result for result in (newest, *evaluation.results) if result is not None}
        return [found[one] for one in sorted(found) if one > version]
