"""The evaluators: which start, wait for work, play, or are started again after a loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from collectorfleet.messages import Answer, CollectorId, Proof

# The pause before an evaluator is started again doubles with each loss in a row.
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0


@dataclass
class Evaluator:
    """A place for an evaluator, and what fills it. Times are seconds of a clock that only goes on."""

    name: str
    id: CollectorId | None = None
    placed_at: float | None = None  # its process runs and builds
    built: bool = False
    playing: int | None = None  # the request that it works on
    is_recording: bool = False  # what it plays
    loaded: int | None = None  # the version that it has proven
    sent: int | None = None  # the version that it was sent last
    proof: Proof = ()  # of that version: what it has to say once it has loaded it
    unproven: list[Answer] = field(default_factory=list)
    losses: int = 0  # in a row
    again_at: float = 0.0


class Evaluators:
    """All places. Methods named for what happened change the state."""

    def __init__(self, count: int, now: float) -> None:
        self.unavailable_since: float | None = now  # None: somebody is there
        self.places = [Evaluator(f"e{index}") for index in range(count)]
        self.restarts = 0
        self._incarnations = 0

    @property
    def available(self) -> int:
        """How many have built their environment and policy."""
        return sum(one.built for one in self.places)

    def to_start(self, now: float) -> Iterator[CollectorId]:
        """Yield each evaluator that starts now; it counts as started."""
        for place in self.places:
            if place.id is None and now >= place.again_at:
                self._incarnations += 1
                self.restarts += place.losses > 0
                place.id = CollectorId(place.name, self._incarnations)
                yield place.id

    def built(self, one: Evaluator) -> None:
        """It has built its environment and policy."""
        one.built = True
        self.unavailable_since = None

    def idle(self) -> Iterator[tuple[CollectorId, Evaluator]]:
        """Yield those that could play."""
        return ((one.id, one) for one in self.places if one.id is not None and one.built and one.playing is None)

    def find(self, id_: CollectorId) -> Evaluator | None:
        """Return the place that this incarnation fills; None if it is gone."""
        return next((one for one in self.places if one.id == id_), None)

    def too_long_building(self, now: float, seconds: float) -> Iterator[Evaluator]:
        """Yield those that have been building for longer than ``seconds``."""
        for one in list(self.places):
            if not one.built and one.placed_at is not None and now - one.placed_at > seconds:
                yield one

    def worked(self, one: Evaluator) -> None:
        """It has ended an episode: earlier losses do not count any more."""
        one.losses = 0

    def lost(self, one: Evaluator, now: float) -> None:
        """It is gone. It starts again at once, or after a pause if it was lost several times in a row."""
        pause = FIRST_PAUSE_SECONDS * 2 ** (one.losses - 1) if one.losses else 0.0
        again_at = now + min(pause, LONGEST_PAUSE_SECONDS)
        place = self.places.index(one)
        self.places[place] = Evaluator(one.name, losses=one.losses + 1, again_at=again_at)
        if self.unavailable_since is None and not self.available:
            self.unavailable_since = now
