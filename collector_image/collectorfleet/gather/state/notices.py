"""Warnings for the driver's log, each said once."""

from __future__ import annotations

from collections.abc import Sequence


class Notices:
    """What collectors found, and what ``map_fn`` changed in those that were there."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._mapped: dict[str, None] = {}

    def mapped(self, method: str) -> None:
        """``map_fn`` called the method in the collectors that are there."""
        self._mapped[method] = None

    def is_new(self, text: str) -> bool:
        """Return whether ``text`` was not said yet of any collector; it counts as said from now on."""
        new = text not in self._said
        self._said.add(text)
        return new

    def of_built(self, name: str, findings: Sequence[str]) -> list[str]:
        """Return what there is to say of a collector that was built; ``findings`` are its own."""
        new = [finding for finding in findings if self.is_new(finding)]
        said = [f"{name}: {finding}" for finding in new]
        if self._mapped:
            methods = ", ".join(self._mapped)
            said.append(
                f"{name} was built after map_fn called {methods}, so {name} does not have their changes; call "
                "them again"
            )
        return said
