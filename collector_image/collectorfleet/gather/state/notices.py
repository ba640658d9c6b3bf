"""Warnings for the driver's log. Each warning is logged once."""

from __future__ import annotations

from collections.abc import Sequence


class Notices:
    """The findings that were logged so far, and the methods that ``map_fn`` called so far."""

    def __init__(self) -> None:
        self._logged: set[str] = set()
        self._mapped: dict[str, None] = {}

    def mapped(self, method: str) -> None:
        """Record that ``map_fn`` called ``method`` in all current collectors."""
        self._mapped[method] = None

    def is_new(self, text: str) -> bool:
        """Return True if ``text`` was not logged for any collector yet. Record ``text`` as logged."""
        new = text not in self._logged
        self._logged.add(text)
        return new

    def of_built(self, name: str, findings: Sequence[str]) -> list[str]:
        """Return the new warnings about a built collector. The collector itself has reported ``findings``."""
        new = [finding for finding in findings if self.is_new(finding)]
        said = [f"{name}: {finding}" for finding in new]
        if self._mapped:
            methods = ", ".join(self._mapped)
            said.append(
                f"{name} was built after map_fn called {methods}, so {name} does not have their changes; call these "
                "methods again"
            )
        return said
