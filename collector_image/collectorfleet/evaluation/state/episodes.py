"""The episodes of one evaluation, with their order and results.

The episodes with the lowest numbers count, even if episodes with higher numbers end earlier. Short episodes end first,
so a mean over the episodes that end first would favor short episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from collectorfleet.messages import Episodes

# Every simulator accepts seeds below this number.
_SEEDS = 2**31


def seed_of(number: int, seeds: Sequence[int]) -> int:
    """Return the seed of rollout ``number``. The first rollout has number 0.

    Rollouts use ``seeds`` in order. If there are more rollouts than seeds, the seeds of later rollouts are derived from
    ``seeds``.
    """
    turn, place = divmod(number, len(seeds))
    if turn == 0:
        return seeds[place]
    return int(np.random.SeedSequence(seeds[place], spawn_key=(turn,)).generate_state(1)[0]) % _SEEDS


class EpisodeList:
    """The episodes of one evaluation. The rollouts with these episodes are numbered from 0.

    A rollout has one episode for each environment in the evaluator's batch. The number of these environments is unknown
    until the first rollout has ended.
    """

    def __init__(self, episodes: int) -> None:
        self.episodes = episodes
        self.per_rollout: int | None = None
        self._next = 0
        self._again: list[int] = []  # rollouts to repeat because their evaluator was lost
        self._playing: set[int] = set()
        self._ended: dict[int, Episodes] = {}

    def take(self) -> int | None:
        """Start the next rollout, and return its number. Return None if enough rollouts are running or finished."""
        needed = self._needed()
        while self._again:
            number = heappop(self._again)
            if number < needed:
                self._playing.add(number)
                return number
        if self._next >= needed:
            return None
        number, self._next = self._next, self._next + 1
        self._playing.add(number)
        return number

    def ended(self, number: int, episodes: Episodes) -> None:
        """Record the episodes of a finished rollout."""
        self._playing.discard(number)
        self._ended[number] = episodes
        self.per_rollout = len(episodes.returns)

    def lost(self, number: int) -> None:
        """Record that the rollout was lost with its evaluator. The rollout will be repeated with the same seed."""
        self._playing.discard(number)
        heappush(self._again, number)

    @property
    def finished(self) -> bool:
        """Whether all episodes that count for the result have ended."""
        return all(number in self._ended for number in range(self._needed()))

    @property
    def count(self) -> int:
        """The number of finished episodes that count for the result."""
        ended = sum(len(one.returns) for number, one in self._ended.items() if number < self._needed())
        return min(ended, self.episodes)

    def in_order(self) -> list[Episodes]:
        """Return the episodes of each finished rollout, in the order of the rollout numbers."""
        return [self._ended[number] for number in sorted(self._ended)]

    def _needed(self) -> int:
        """Return the required number of rollouts. Until the first rollout has ended, assume one episode per rollout."""
        return -(-self.episodes // (self.per_rollout or 1))
