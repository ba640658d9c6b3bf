"""Evaluators that do what a test says, and what they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

from tests.stored import stored

from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.evaluation.state.evaluation import Candidate, EvaluationPlan, EvaluationState, Play
from collectorfleet.evaluation.state.evaluators import Evaluator
from collectorfleet.evaluation.state.schedule import Interval
from collectorfleet.messages import Answer, CollectorId, Episodes, Stored, Weights

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def plan(**options: Any) -> EvaluationPlan:
    given: dict[str, Any] = {
        "replicas": 1,
        "interval": Interval(versions=1),
        "episodes": 2,
        "seeds": (0, 1, 2),
        "timeout_seconds": 100.0,
        "build_seconds": 50.0,
    }
    return EvaluationPlan(**given | options)


def weights(version: int, normalization: Stored | None = None) -> Weights:
    return Weights(version, stored(f"digest {version}", 8, version), normalization=normalization)


def candidate(version: int, frames: int = 0) -> Candidate:
    return Candidate(weights(version), frames)


def unread() -> Future[str]:
    """A digest that is not computed yet."""
    return Future()


class Evaluated(EvaluationState):
    """A state whose evaluators are built, and act by name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(plan(**options), 0.0)
        self.start()

    def start(self, now: float = 0.0) -> None:
        """Start and build whoever is missing."""
        for id_ in self.evaluators.to_start(now):
            one = self.evaluators.find(id_)
            assert one is not None
            self.evaluators.built(one)

    def named(self, name: str) -> Evaluator:
        return next(one for one in self.evaluators.places if one.name == name)

    def sent(self, now: float = 0.0) -> list[Play]:
        return list(self.plays(now))

    def answers(self, play: Play, value: float = 1.0, length: int = 10) -> None:
        one = self.evaluators.find(play.evaluator)
        assert one is not None
        assert play.request.version is not None
        episodes = Episodes((value,), (length,))
        self.answered(
            one, Answer(play.evaluator, play.request.id, None, length, play.request.version, 1.0, episodes=episodes)
        )

    def loads(self, evaluator: CollectorId, version: int, digest: str | None = None) -> bool:
        one = self.evaluators.find(evaluator)
        assert one is not None
        return self.applied(one, version, digest or f"digest {version}")

    def play(self, value: float = 1.0, now: float = 0.0) -> EvaluationResult | None:
        """Play the evaluation that is due to its end."""
        for play in self._to_the_end(now):
            if play.weights is not None:
                assert self.loads(play.evaluator, play.weights.version)
            self.answers(play, value)
        return self.result(now, NOW)

    def _to_the_end(self, now: float) -> Iterator[Play]:
        while plays := self.sent(now):
            yield from plays
