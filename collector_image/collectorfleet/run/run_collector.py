"""Define the collector that a training function gets: a FleetCollector that takes part in a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from tensordict import TensorDictBase

from collectorfleet.fleet.collector import FleetCollector
from collectorfleet.gather.shared import Staged
from collectorfleet.run.batch_boundary import BatchBoundary
from collectorfleet.run.position import Position


class RunCollector(FleetCollector):
    """A FleetCollector that calls ``boundary`` between batches and before the user publishes.

    The class is a subclass, not a wrapper, because ``start()`` itself iterates. There is a second reason: the user's
    code and TorchRL's trainers check ``isinstance(collector, BaseCollector)``, and may call any method. All additions
    of a run are in ``boundary``.
    """

    def __init__(self, boundary: BatchBoundary, frames_lost: int, **options: Any) -> None:
        """``frames_lost`` counts lost frames of earlier drivers. ``options`` are the options of FleetCollector."""
        self._boundary = boundary
        self._frames_lost = frames_lost
        self._is_evaluated = False
        super().__init__(**options)

    def position(self) -> Position:
        """The progress of the run. Any thread may read it."""
        return Position.of_counters(self.counters(), self._frames_lost)

    def iterator(self) -> Iterator[TensorDictBase | None]:
        return self._boundary.batches(super().iterator(), self.position)

    def finish_evaluation(
        self, timeout: float | None = None, *, stop_requested: Callable[[], bool] = lambda: False
    ) -> bool:
        if self._boundary.stop_requested:
            return False
        self._is_evaluated = True
        return super().finish_evaluation(
            timeout, stop_requested=lambda: self._boundary.stop_requested or stop_requested()
        )

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        # TorchRL's trainers end their collector themselves, before the run can evaluate the last version.
        if not self._is_evaluated and sys.exc_info()[0] is None:
            self.finish_evaluation()
        super().shutdown(*args, **kwargs)

    def stop_evaluating(self) -> None:
        """End the running evaluation without a result. After this, no result changes the status."""
        if self._engine.evaluation is not None:
            self._engine.evaluation.close()

    def end(self, timeout: float) -> None:
        """End the collectors, whether or not the last version was evaluated. Blocks for at most ``timeout`` seconds."""
        super().shutdown(timeout=timeout)

    def publish(self) -> Staged:
        self._boundary.before_publish(self.position())
        return super().publish()

    def update_policy_weights_(self, *args: Any, **kwargs: Any) -> Any:
        self._boundary.before_publish(self.position())
        return super().update_policy_weights_(*args, **kwargs)
