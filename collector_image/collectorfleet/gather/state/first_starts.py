"""Whether two collectors began their first episodes alike, which they do if their environments have one seed. Pure."""

from __future__ import annotations

from collectorfleet.messages import CollectorId


class FirstStarts:
    """The digests of all collectors so far, of those that are lost, too."""

    def __init__(self) -> None:
        self._first: dict[str, CollectorId] = {}
        self._is_told = False

    def noted(self, collector: CollectorId, digest: str) -> str | None:
        """Note what a collector said. Returns a warning, once: another one had said the same."""
        other = self._first.setdefault(digest, collector)
        if other == collector or self._is_told:
            return None
        self._is_told = True
        who = f"{other.name} and {collector.name}"
        if other.name == collector.name:
            who = f"{collector.name} and the collector that it replaced"
        return (
            f"environment: the first episodes of {who} began with the same observations, so their "
            "environments may share a seed and produce the same frames; remove the seed, or give each "
            "collector its own: a factory with a parameter `collector_index` receives the index"
        )
