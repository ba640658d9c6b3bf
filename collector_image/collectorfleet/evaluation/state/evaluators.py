"""The states of the evaluators: starting, idle, running an episode, or waiting for a restart after a loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from collectorfleet.messages import Answer, CollectorId, Proof

# The delay before a restart doubles with each further loss, until the evaluator finishes a rollout.
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0


@dataclass
class Evaluator:
    """One evaluator of a fleet, and its state since its last start.

    All times come from a monotonic clock, in seconds.
    """

    name: str
    id: CollectorId | None = None
    placed_at: float | None = None  # the time at which its process started
    built: bool = False
    playing: int | None = None  # the id of the running request
    is_recording: bool = False  # whether the running rollout is recorded
    loaded: int | None = None  # the version whose digest was verified
    sent: int | None = None  # the version that was last sent to the evaluator
    proof: Proof = ()  # the digests of the version ``sent``
    unproven: list[Answer] = field(default_factory=list)  # answers of versions whose digest is not verified yet
    losses: int = 0  # since the last finished rollout
    again_at: float = 0.0  # the time from which the evaluator may be restarted


class Evaluators:
    """The evaluators of a fleet. Methods named after events change the state."""

    def __init__(self, count: int, now: float) -> None:
        self.unavailable_since: float | None = now  # None: an evaluator is available
        self.places = [Evaluator(f"e{index}") for index in range(count)]
        self.restarts = 0
        self._incarnations = 0

    @property
    def available(self) -> int:
        """The number of evaluators that have built their environment and policy."""
        return sum(one.built for one in self.places)

    def to_start(self, now: float) -> Iterator[CollectorId]:
        """Yield the ids of evaluators that have to start now, and record these evaluators as started."""
        for place in self.places:
            if place.id is None and now >= place.again_at:
                self._incarnations += 1
                self.restarts += place.losses > 0
                place.id = CollectorId(place.name, self._incarnations)
                yield place.id

    def built(self, one: Evaluator) -> None:
        """Record that the evaluator has built its environment and policy."""
        one.built = True
        self.unavailable_since = None

    def idle(self) -> Iterator[tuple[CollectorId, Evaluator]]:
        """Yield the evaluators that have built their environment and run no request."""
        return ((one.id, one) for one in self.places if one.id is not None and one.built and one.playing is None)

    def find(self, id_: CollectorId) -> Evaluator | None:
        """Return the evaluator with this id. Return None if this evaluator was lost. Each start gets another id."""
        return next((one for one in self.places if one.id == id_), None)

    def too_long_building(self, now: float, seconds: float) -> Iterator[Evaluator]:
        """Yield the evaluators that have been building for longer than ``seconds``."""
        for one in list(self.places):
            if not one.built and one.placed_at is not None and now - one.placed_at > seconds:
                yield one

    def worked(self, one: Evaluator) -> None:
        """Record that the evaluator has finished a rollout. Its earlier losses no longer delay a restart."""
        one.losses = 0

    def lost(self, one: Evaluator, now: float) -> None:
        """Record the loss of the evaluator.

        After the first loss, the evaluator restarts at once. After each further loss, it restarts with a delay.
        """
        # The bound of the exponent prevents an overflow after many losses.
        pause = FIRST_PAUSE_SECONDS * 2.0 ** min(one.losses - 1, 30) if one.losses else 0.0
        again_at = now + min(pause, LONGEST_PAUSE_SECONDS)
        place = self.places.index(one)
        self.places[place] = Evaluator(one.name, losses=one.losses + 1, again_at=again_at)
        if self.unavailable_since is None and not self.available:
            self.unavailable_since = now
