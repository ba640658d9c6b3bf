"""Map each version of the fleet to the version of each policy. Pure.

A version of the fleet contains the weights of all policies and has one number. A policy's own version increases only if
the policy changed. So each version of the fleet contains exactly one version of each policy. Only the last 100,000
changes of a policy are stored, so that the memory and the checkpoints of a long run stay small. If a frame is older
than the first stored change, it counts as a frame of the version before this change.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from collectorfleet.gather.shared import Staged

_KEPT: Final = 100_000


@dataclass(frozen=True)
class Staleness:
    """The staleness of the frames in a policy's buffer, in versions of the policy: minimum, mean and maximum."""

    min: int
    mean: float
    max: int


@dataclass(frozen=True)
class PolicyStatus:
    """The status of one policy. Its versions count from 1.

    ``published`` is the current version. Every available collector has the version ``acknowledged`` or a newer version.
    ``published`` and ``acknowledged`` are None as long as they are unknown. ``frames`` counts the frames in the
    policy's buffer that have a version, and ``staleness`` is the staleness of these frames. ``steps`` is the number of
    learning steps, or None if these steps are not counted.
    """

    published: int | None
    acknowledged: int | None
    frames: int = 0
    staleness: Staleness | None = None
    steps: int | None = None

    @property
    def publish_lag(self) -> int | None:
        """The number of versions by which the slowest collector is behind, or None if this number is unknown."""
        if self.published is None or self.acknowledged is None:
            return None
        return self.published - self.acknowledged


class PolicyVersions:
    """The versions of policies by id. A policy has version 1 in the first published version of the fleet."""

    def __init__(self, policy_ids: Iterable[str]) -> None:
        # For each policy: the versions of the fleet in which the policy's versions 2, 3, ... began. The oldest entries
        # are dropped, and `_dropped` has their number. An array needs a quarter of a list's memory.
        self._began: dict[str, array[int]] = {policy_id: array("q") for policy_id in policy_ids}
        self._dropped = dict.fromkeys(self._began, 0)
        self._staged: list[tuple[Staged, tuple[str, ...]]] = []

    def staged(self, staged: Staged, changed: Iterable[str]) -> None:
        """Record which policies changed in ``staged``.

        Newer weights may still replace the staged weights before these are published.
        """
        self._begun()
        self._staged.append((staged, tuple(changed)))

    def of(self, policy_id: str, fleet_version: int) -> int:
        """Return the policy's own version in ``fleet_version`` of the fleet. Raise KeyError for an unknown policy."""
        began = self._begun()[policy_id]
        return 1 + self._dropped[policy_id] + bisect_right(began, fleet_version)

    def status(
        self, policy_id: str, published: int | None, acknowledged: int | None, stored: Mapping[int, int]
    ) -> PolicyStatus:
        """Compute the status of a policy from versions of the fleet. ``stored`` maps these versions to frame counts."""
        current = None if published is None else self.of(policy_id, published)
        frames = sum(stored.values())
        staleness = None
        if current is not None and frames:
            # A frame may have a version that was published after ``published`` was read.
            behind = [(max(current - self.of(policy_id, version), 0), number) for version, number in stored.items()]
            mean = sum(versions * number for versions, number in behind) / frames
            staleness = Staleness(min(behind)[0], mean, max(behind)[0])
        had = None if acknowledged is None else self.of(policy_id, acknowledged)
        return PolicyStatus(current, had, frames, staleness)

    def state_dict(self) -> dict[str, list[int]]:
        """Return the state for :meth:`go_on_from` in another driver.

        If changes of a policy were dropped, the first entry of its list is the negated number of dropped changes.
        """
        return {
            policy_id: [*([-dropped] if (dropped := self._dropped[policy_id]) else []), *began]
            for policy_id, began in self._begun().items()
        }

    def go_on_from(self, state: Mapping[str, list[int]], fleet_version: int) -> None:
        """Continue from the state of another driver. Call this before the first publish.

        All policies count as changed in ``fleet_version``.
        """
        for policy_id in self._began:
            known = state.get(policy_id, [])
            self._dropped[policy_id] = -min(known[0], 0) if known else 0
            self._began[policy_id] = array("q", [one for one in known if one > 0])
            if policy_id in state:
                self._changed(policy_id, fleet_version)

    def _begun(self) -> dict[str, array[int]]:
        while self._staged:
            staged, changed = self._staged[0]
            version = staged.final.version
            if version is None:
                break
            self._staged.pop(0)
            for policy_id in changed:
                self._changed(policy_id, version)
        return self._began

    def _changed(self, policy_id: str, version: int) -> None:
        began = self._began[policy_id]
        began.append(version)
        if len(began) > 2 * _KEPT:  # done rarely, because it moves all stored versions
            self._dropped[policy_id] += len(began) - _KEPT
            del began[:-_KEPT]
