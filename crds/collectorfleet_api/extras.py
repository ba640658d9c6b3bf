"""Finds missing packages of this project's extras, and names the command that installs them.

This module imports none of the packages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Needs:
    """The modules that a program imports from the packages in ``extra``."""

    extra: str
    modules: tuple[str, ...]

    def missing(self) -> Sequence[str]:
        """Return the modules that are not installed."""
        return [module for module in self.modules if not is_installed(module)]

    def problem(self, program: str) -> str | None:
        """Return a message about missing modules, or None. ``program`` is the program's name in the message."""
        missing = ", ".join(self.missing())
        return f"{program} needs packages that are not installed ({missing}): {self.install}" if missing else None

    @property
    def install(self) -> str:
        """Return the command that installs the missing packages."""
        return f"pip install 'collectorfleet[{self.extra}]'"


def is_installed(module: str) -> bool:
    """Return whether ``module`` can be imported. A folder of that name without Python files does not count."""
    found = find_spec(module)
    return found is not None and found.origin is not None
