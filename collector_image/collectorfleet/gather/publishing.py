"""What becomes of one publish: which version it got, and who applied it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.pieces import Life
from collectorfleet.gather.state.roster import Roster
from collectorfleet.messages import Stored


class Publication:
    """Stored weights on their way to becoming a version. Newer ones may take their place before they do.

    ``seconds`` is how long storing them took.
    """

    def __init__(self, stored: Stored, seconds: float) -> None:
        self.stored: Stored | None = stored
        self.seconds = seconds
        self.version: int | None = None
        self.replaced_by: Publication | None = None

    @property
    def final(self) -> Publication:
        """The publication whose weights the collectors get."""
        found = self
        while found.replaced_by is not None:
            found = found.replaced_by
        return found


@dataclass(frozen=True)
class PublishResult:
    """What one collector has: ``version`` is what it acknowledged last, None if nothing yet."""

    version: int | None
    acknowledged: bool  # the version asked about, or a newer one
    error: str | None = None


def results(version: int | None, gather: Gather, roster: Roster) -> Mapping[str, PublishResult]:
    """By collector; ``version`` None: it was not published yet."""
    found = {}
    for seat in sorted(roster.seats.values(), key=lambda seat: seat.index):
        member = gather.members.get(seat.name)
        applied = member.applied_version if member and member.life is Life.READY else None
        done = version is not None and applied is not None and applied >= version
        found[seat.name] = PublishResult(applied, done, None if done else _why_not(version, seat.last_error))
    return found


def _why_not(version: int | None, last_error: str | None) -> str:
    if last_error is not None:
        return last_error
    return "not published yet: the staleness bound holds it back" if version is None else "not applied yet"
