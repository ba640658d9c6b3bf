"""Which version of each policy a version of the fleet has. Pure.

The fleet's versions have all policies, and one number. A policy's own count increases only if the policy changed. So a
version of the fleet is also one version of each policy: the newest that had begun by then.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from collectorfleet.gather.shared import Staged


@dataclass(frozen=True)
class Staleness:
    """How many versions of its policy behind the frames in a buffer are, their newest, mean and oldest."""

    min: int
    mean: float
    max: int


@dataclass(frozen=True)
class PolicyStatus:
    """Of one policy; its versions count from 1.

    ``published`` is what is current, ``acknowledged`` what every available collector has or a newer one; None: not
    known yet. ``frames`` are those in its buffer that say their version, and ``staleness`` is theirs. ``steps`` is how
    often its learner has learned, None where that is not counted.
    """

    published: int | None
    acknowledged: int | None
    frames: int = 0
    staleness: Staleness | None = None
    steps: int | None = None

    @property
    def publish_lag(self) -> int | None:
        """Versions of the policy that the slowest collector is behind."""
        if self.published is None or self.acknowledged is None:
            return None
        return self.published - self.acknowledged


class PolicyVersions:
    """Of policies by id; each is version 1 with whatever the fleet published first."""

    def __init__(self, policy_ids: Iterable[str]) -> None:
        # The fleet's version with which the policy's 2, 3, ... began.
        # An array takes a quarter of the memory of a list: 0.7 MB a day for one version a second.
        self._began: dict[str, array[int]] = {policy_id: array("q") for policy_id in policy_ids}
        self._staged: list[tuple[Staged, tuple[str, ...]]] = []

    def staged(self, staged: Staged, changed: Iterable[str]) -> None:
        """These policies changed in what is to be published; it may become one version with what follows."""
        self._staged.append((staged, tuple(changed)))

    def of(self, policy_id: str, fleet_version: int) -> int:
        """The version of the policy in that of the fleet. Raises KeyError for an unknown policy."""
        return 1 + bisect_right(self._begun()[policy_id], fleet_version)

    def status(
        self, policy_id: str, published: int | None, acknowledged: int | None, stored: Mapping[int, int]
    ) -> PolicyStatus:
        """From the fleet's versions: what is current, what is acknowledged, and of how many frames each is."""
        current = None if published is None else self.of(policy_id, published)
        frames = sum(stored.values())
        staleness = None
        if current is not None and frames:
            # Frames may have come with a version that was published since the status was taken.
            behind = [(max(current - self.of(policy_id, version), 0), number) for version, number in stored.items()]
            mean = sum(versions * number for versions, number in behind) / frames
            staleness = Staleness(min(behind)[0], mean, max(behind)[0])
        had = None if acknowledged is None else self.of(policy_id, acknowledged)
        return PolicyStatus(current, had, frames, staleness)

    def state_dict(self) -> dict[str, list[int]]:
        """For :meth:`go_on_from`, of another driver."""
        return {policy_id: list(began) for policy_id, began in self._begun().items()}

    def go_on_from(self, state: Mapping[str, list[int]], fleet_version: int) -> None:
        """Count on from what another had, before anything is staged: all policies change with ``fleet_version``."""
        for policy_id, began in self._began.items():
            began[:] = array("q", [*state[policy_id], fleet_version] if policy_id in state else [])

    def _begun(self) -> dict[str, array[int]]:
        while self._staged:
            staged, changed = self._staged[0]
            version = staged.final.version
            if version is None:
                break
            self._staged.pop(0)
            for policy_id in changed:
                self._began[policy_id].append(version)
        return self._began
