"""Detect two collectors whose first episodes begin with equal observations. This happens if they have the same seed."""

from __future__ import annotations

from collectorfleet.messages import CollectorId


class FirstStarts:
    """The digests of all collectors so far, including lost collectors.

    A digest covers the first episodes of a collector.
    """

    def __init__(self) -> None:
        self._first: dict[str, CollectorId] = {}
        self._has_warned = False

    def noted(self, collector: CollectorId, digest: str) -> str | None:
        """Record a collector's digest. If another collector had the same digest, return a warning.

        The warning is returned only once for the whole fleet. Otherwise the result is None.
        """
        other = self._first.setdefault(digest, collector)
        if other == collector or self._has_warned:
            return None
        self._has_warned = True
        who = f"{other.name} and {collector.name}"
        if other.name == collector.name:
            who = f"{collector.name} and the collector that it replaced"
        return (
            f"environment: the first episodes of {who} began with the same observations, so their environments may "
            "share a seed. Remove the seed, or derive the seed from the argument `collector_index` of the factory"
        )
