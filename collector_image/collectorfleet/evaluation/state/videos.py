"""Decide which episodes of which evaluations are recorded, and collect the videos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from collectorfleet.evaluation.result import EpisodeVideo, EvaluationResult
from collectorfleet.evaluation.state.episodes import seed_of
from collectorfleet.messages import Recorded

# If this number of evaluators were lost one after another while they recorded, the renderer is probably the cause. The
# run then records no further episodes.
MOST_LOSSES: Final = 2
# The time limit for rendering, as a fraction of an evaluation's timeout. The timeout of a recorded evaluation is longer
# by this fraction.
RENDERING_SHARE: Final = 0.25


@dataclass(frozen=True)
class VideoPlan:
    """Which episodes are recorded: the first ``episodes`` episodes of every ``every_evaluations``-th evaluation.

    The first evaluation is recorded. The count includes failed evaluations, and a resumed run continues the count.
    """

    episodes: int
    every_evaluations: int


class Recording:
    """The recorded episodes of one evaluation, by the number of the rollout."""

    def __init__(self, episodes: int) -> None:
        self.episodes = episodes
        self.recorded: dict[int, Recorded] = {}
        self._is_lost = False
        self._to_repeat: set[int] = set()

    def wants(self, number: int, per_rollout: int | None) -> int:
        """Return how many episodes of rollout ``number`` have to be recorded.

        ``per_rollout`` is the number of episodes in a rollout. It is None if this number is not known yet.
        """
        if self._is_lost:
            return 0
        return max(0, self.episodes - number * (per_rollout or 1))

    def lost(self, number: int) -> None:
        """Note that an evaluator was lost while it recorded this rollout.

        No more rollouts of the evaluation are recorded.
        """
        self._is_lost = True
        self._to_repeat.add(number)

    def take_repetition(self, number: int) -> bool:
        """Return whether this rollout begins again because an evaluator was lost while it recorded the rollout.

        A later call returns False: the repeated rollout is not recorded.
        """
        is_first = number in self._to_repeat
        self._to_repeat.discard(number)
        return is_first

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
        plan: which episodes are recorded. None: no episodes are recorded.
    """

    def __init__(self, plan: VideoPlan | None) -> None:
        self.newest: tuple[EpisodeVideo, ...] = ()
        self.failure: str | None = None
        self._plan = plan
        self._losses = 0  # number of evaluators that were lost while recording, since the last recorded rollout

    @property
    def is_enabled(self) -> bool:
        return self._plan is not None

    def begin(self, evaluations_before: int, *, last: bool) -> Recording | None:
        """Return the recording of the evaluation that begins now.

        Return None if this evaluation is not recorded. ``evaluations_before`` is the number of evaluations that have
        ended, including evaluations before a resume. If ``last`` is true, this is the last evaluation of the run. It is
        recorded even if the interval does not select it.
        """
        plan = self._plan
        if plan is None or self._losses >= MOST_LOSSES:
            return None
        is_due = last or evaluations_before % plan.every_evaluations == 0
        return Recording(plan.episodes) if is_due else None

    def recorded(self, recording: Recording, number: int, recorded: Recorded) -> None:
        """Add the videos that an evaluator made of a rollout, or the reason why it made no videos."""
        recording.recorded[number] = recorded
        self._losses = 0
        if recorded.failure is not None:
            self.failure = recorded.failure

    def lost(self, recording: Recording, number: int, cause: str) -> None:
        """Note that an evaluator was lost while it recorded rollout ``number``."""
        recording.lost(number)
        self._losses += 1
        rest = "; no further episode is recorded" if self._losses == MOST_LOSSES else ""
        self.failure = f"an evaluator was lost while it recorded a video: {cause}{rest}"

    def finished(self, videos: tuple[EpisodeVideo, ...]) -> None:
        """Set the newest videos to the videos of a finished evaluation."""
        if videos:
            self.newest, self.failure = videos, None
