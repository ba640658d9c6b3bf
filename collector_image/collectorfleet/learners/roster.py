"""The place of each policy. Pure.

Each place of a shard has room for one policy. A policy keeps its place until it is removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from collectorfleet.errors import InvalidOption
from collectorfleet_api.counts import counted
from collectorfleet_api.rules.sentences import did_you_mean

# The id is part of a file name.
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class Placement(StrEnum):
    """How to choose the shard of a policy: the shard with the fewest policies, or the first shard with a free place."""

    SPREAD = "Spread"
    FIRST_FIT = "FirstFit"


@dataclass(frozen=True)
class Place:
    """Place ``slot`` of shard ``shard``, both counted from 0."""

    shard: int
    slot: int


class Roster:
    """Policies by id, in the order of their addition. ``slots`` has the number of places of each shard."""

    def __init__(self, slots: Sequence[int], placement: Placement) -> None:
        self._free = [list(range(number)) for number in slots]
        self._slots = tuple(slots)
        self._placement = placement
        self._places: dict[str, Place] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def add(self, policy_id: str, wish: Place | None = None) -> Place:
        """Give the policy the place ``wish`` if this place is free, otherwise another place. Return the place.

        Raises InvalidOption if the id is taken or invalid, or if all places are taken.
        """
        if not _ID.fullmatch(policy_id):
            raise InvalidOption(
                f"policy {policy_id!r}: not a valid id; use at most 63 letters, digits, '-', '_' and '.', and begin "
                "with a letter or a digit"
            )
        if policy_id in self._places:
            raise InvalidOption(f"policy {policy_id!r}: it exists already; remove it first, or choose another id")
        shard = self._shard()
        if shard is None:
            taken = "+".join(str(number) for number in self._slots)
            shards = counted(len(self._slots), "shard")
            raise InvalidOption(
                f"policy {policy_id!r}: all {len(self)} places are taken ({taken} in {shards}); "
                f"remove a policy, or raise max_policies ({len(self)})"
            )
        if wish is not None and wish.shard < len(self._free) and wish.slot in self._free[wish.shard]:
            place = wish
            self._free[wish.shard].remove(wish.slot)
        else:
            place = Place(shard, self._free[shard].pop(0))
        self._places[policy_id] = place
        return place

    def remove(self, policy_id: str) -> None:
        """Remove the policy and free its place. Raises InvalidOption for an unknown id."""
        place = self.place(policy_id)
        del self._places[policy_id]
        self._free[place.shard].append(place.slot)

    def place(self, policy_id: str) -> Place:
        """Return the place of the policy. Raise InvalidOption for an unknown id."""
        if policy_id not in self._places:
            there = f"; use one of {', '.join(self._places)}" if self._places else ", because there are no policies"
            raise InvalidOption(
                f"policy {policy_id!r}: it does not exist{did_you_mean(policy_id, list(self._places)) or there}"
            )
        return self._places[policy_id]

    def _shard(self) -> int | None:
        open_ = [index for index, free in enumerate(self._free) if free]
        if self._placement is Placement.FIRST_FIT:
            return open_[0] if open_ else None
        return min(open_, key=lambda index: self._slots[index] - len(self._free[index]), default=None)
