"""Which episodes of which evaluations are recorded, and what came of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from collectorfleet.evaluation.result import EpisodeVideo, EvaluationResult
from collectorfleet.evaluation.state.episodes import seed_of
from collectorfleet.messages import Recorded

# Evaluators that are lost in a row while they record; after that a renderer is taken for one that ends its process.
MOST_LOSSES: Final = 2
# Renderers of one evaluation may take this share of its timeout, and a recorded evaluation has this much more time.
RENDERING_SHARE: Final = 0.25


@dataclass(frozen=True)
class VideoPlan:
    """The first ``episodes`` episodes of the first evaluation, and of every ``every_evaluations``-th one after it."""

    episodes: int
    every_evaluations: int


class Recording:
    """The recorded episodes of one evaluation, by the rollouts that they are played in."""

    def __init__(self, episodes: int) -> None:
        self.episodes = episodes
        self.recorded: dict[int, Recorded] = {}
        self._lost: set[int] = set()

    def wants(self, number: int, per_rollout: int | None) -> int:
        """Return how many episodes of rollout ``number`` are recorded.

        ``per_rollout`` is how many episodes a rollout has; None as long as nobody knows.
        """
        if self._lost:
            return 0
        return max(0, self.episodes - number * (per_rollout or 1))

    def lost(self, number: int) -> None:
        """The evaluator was lost while it recorded this rollout: nothing more of the evaluation is recorded."""
        self._lost.add(number)

    def was_lost(self, number: int) -> bool:
        """Return whether an evaluator was lost while it recorded this rollout."""
        return number in self._lost

    def videos(self, result: EvaluationResult, seeds: Sequence[int], per_rollout: int) -> tuple[EpisodeVideo, ...]:
        """Return what was recorded of the episodes that count first."""
        found = []
        for number, recorded in sorted(self.recorded.items()):
            for row, data in enumerate(recorded.files):
                episode = number * per_rollout + row
                if episode < min(self.episodes, len(result.returns)):
                    found.append(
                        EpisodeVideo(
                            version=result.version,
                            frames=result.frames,
                            episode=episode,
                            seed=seed_of(number, seeds),
                            episode_return=result.returns[episode],
                            length=result.lengths[episode],
                            data=data,
                        )
                    )
        return tuple(found)


class Videos:
    """Those of a run. Methods named for what happened change the state.

    Args:
        plan: what is recorded. None: nothing.
    """

    def __init__(self, plan: VideoPlan | None) -> None:
        self.newest: tuple[EpisodeVideo, ...] = ()
        self.failure: str | None = None
        self._plan = plan
        self._losses = 0  # in a row

    @property
    def are_asked_for(self) -> bool:
        return self._plan is not None

    def begin(self, evaluations_before: int, *, last: bool) -> Recording | None:
        """Return the recording of an evaluation that begins now; None: it is not recorded.

        ``evaluations_before`` have ended in this run. The ``last`` one of the run is recorded, too.
        """
        plan = self._plan
        if plan is None or self._losses >= MOST_LOSSES:
            return None
        is_due = last or evaluations_before % plan.every_evaluations == 0
        return Recording(plan.episodes) if is_due else None

    def recorded(self, recording: Recording, number: int, recorded: Recorded) -> None:
        """An evaluator has answered with what it recorded of a rollout."""
        recording.recorded[number] = recorded
        self._losses = 0
        if recorded.failure is not None:
            self.failure = recorded.failure

    def lost(self, recording: Recording, number: int, cause: str) -> None:
        """An evaluator is gone that was recording."""
        recording.lost(number)
        self._losses += 1
        rest = "; no further episode is recorded" if self._losses == MOST_LOSSES else ""
        self.failure = f"an evaluator was lost while it recorded: {cause}{rest}"

    def finished(self, videos: tuple[EpisodeVideo, ...]) -> None:
        """An evaluation has ended that was recorded."""
        if videos:
            self.newest, self.failure = videos, None
