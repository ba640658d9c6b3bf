"""The episodes of one evaluation: which begin next, which are being played, and which have ended.

The episodes with the first numbers count, however early others end. Short episodes end first, and a mean over the first
episodes to end would be a mean over short episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from collectorfleet.messages import Episodes

# As large as every simulator takes.
_SEEDS = 2**31


def seed_of(number: int, seeds: Sequence[int]) -> int:
    """Return the seed of rollout ``number``: ``seeds`` in turn; in later turns, numbers that are derived from them."""
    turn, place = divmod(number, len(seeds))
    if turn == 0:
        return seeds[place]
    return int(np.random.SeedSequence(seeds[place], spawn_key=(turn,)).generate_state(1)[0]) % _SEEDS


class EpisodeList:
    """The episodes of one evaluation, in rollouts that are numbered from 0.

    A rollout is one episode, or one of each environment that an evaluator steps together: how many is known once a
    rollout has ended.
    """

    def __init__(self, episodes: int) -> None:
        self.episodes = episodes
        self.per_rollout: int | None = None
        self._next = 0
        self._again: list[int] = []  # lost with their evaluator
        self._playing: set[int] = set()
        self._ended: dict[int, Episodes] = {}

    def take(self) -> int | None:
        """Return the number of the rollout to begin now; None if enough are being played or have ended."""
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
        """The rollout has ended, with these episodes."""
        self._playing.discard(number)
        self._ended[number] = episodes
        self.per_rollout = len(episodes.returns)

    def lost(self, number: int) -> None:
        """The rollout was lost with its evaluator: it is played again, from the same seed."""
        self._playing.discard(number)
        heappush(self._again, number)

    @property
    def finished(self) -> bool:
        """Whether all episodes that count have ended."""
        return all(number in self._ended for number in range(self._needed()))

    @property
    def count(self) -> int:
        """How many of the episodes that count have ended."""
        ended = sum(len(one.returns) for number, one in self._ended.items() if number < self._needed())
        return min(ended, self.episodes)

    def in_order(self) -> list[Episodes]:
        """Return the episodes of each rollout that has ended, in the order of their numbers."""
        return [self._ended[number] for number in sorted(self._ended)]

    def _needed(self) -> int:
        """How many rollouts there have to be; one for each episode as long as it is not known how many one has."""
        return -(-self.episodes // (self.per_rollout or 1))
