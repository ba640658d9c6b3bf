"""Decide which episodes of which evaluations are recorded, and collect their videos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from collectorfleet.evaluation.result import EpisodeVideo, EvaluationResult
from collectorfleet.evaluation.state.episodes import seed_of
from collectorfleet.messages import Recorded

# After this many losses in a row during a recording, the renderer probably ends its process. Recording then stops.
MOST_LOSSES: Final = 2
# Renderers may take this share of an evaluation's timeout. A recorded evaluation gets this much additional time.
RENDERING_SHARE: Final = 0.25


@dataclass(frozen=True)
class VideoPlan:
    """Record the first ``episodes`` episodes of the first of every ``every_evaluations`` evaluations.

    A resumed run continues to count the evaluations, failed ones too.
    """

    episodes: int
    every_evaluations: int


class Recording:
    """The recorded episodes of one evaluation, by the number of their rollout."""

    def __init__(self, episodes: int) -> None:
        self.episodes = episodes
        self.recorded: dict[int, Recorded] = {}
        self._lost: set[int] = set()

    def wants(self, number: int, per_rollout: int | None) -> int:
        """Return how many episodes of rollout ``number`` are recorded.

        ``per_rollout`` is the number of episodes in a rollout, or None if it is unknown.
        """
        if self._lost:
            return 0
        return max(0, self.episodes - number * (per_rollout or 1))

    def lost(self, number: int) -> None:
        """Record that an evaluator was lost while it recorded this rollout. The recording of this evaluation stops."""
        self._lost.add(number)

    def was_lost(self, number: int) -> bool:
        """Return whether an evaluator was lost while it recorded this rollout."""
        return number in self._lost

    def videos(self, result: EvaluationResult, seeds: Sequence[int], per_rollout: int) -> tuple[EpisodeVideo, ...]:
        """Return the recorded videos of the first episodes."""
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
    """The videos of a run. Methods named after events change the state.

    Args:
        plan: the episodes to record. None for no recording.
    """

    def __init__(self, plan: VideoPlan | None) -> None:
        self.newest: tuple[EpisodeVideo, ...] = ()
        self.failure: str | None = None
        self._plan = plan
        self._losses = 0  # in a row

    @property
    def is_enabled(self) -> bool:
        return self._plan is not None

    def begin(self, evaluations_before: int, *, last: bool) -> Recording | None:
        """Return the recording of an evaluation that begins now; None if it is not recorded.

        ``evaluations_before`` is the number of ended evaluations, including the evaluations before a resume. The
        ``last`` evaluation of the run is recorded, too.
        """
        plan = self._plan
        if plan is None or self._losses >= MOST_LOSSES:
            return None
        is_due = last or evaluations_before % plan.every_evaluations == 0
        return Recording(plan.episodes) if is_due else None

    def recorded(self, recording: Recording, number: int, recorded: Recorded) -> None:
        """Record the recording that an evaluator made of a rollout."""
        recording.recorded[number] = recorded
        self._losses = 0
        if recorded.failure is not None:
            self.failure = recorded.failure

    def lost(self, recording: Recording, number: int, cause: str) -> None:
        """Record that an evaluator was lost during a recording."""
        recording.lost(number)
        self._losses += 1
        rest = "; no further episode is recorded" if self._losses == MOST_LOSSES else ""
        self.failure = f"an evaluator was lost while it recorded: {cause}{rest}"

    def finished(self, videos: tuple[EpisodeVideo, ...]) -> None:
        """Record the videos of a finished evaluation."""
        if videos:
            self.newest, self.failure = videos, None
