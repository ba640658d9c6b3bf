"""The packages of this project's extras: which are missing, and how to install them.

Looking for a package does not import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Needs:
    """``modules`` are what a program imports of the packages in ``extra``."""

    extra: str
    modules: tuple[str, ...]

    def missing(self) -> Sequence[str]:
        """Return the modules that are not installed."""
        return [module for module in self.modules if not is_installed(module)]

    def problem(self, program: str) -> str | None:
        """Return the sentence about missing modules, None if there are none; ``program`` is its name for people."""
        missing = ", ".join(self.missing())
        return f"{program} needs packages that are not installed ({missing}): {self.install}" if missing else None

    @property
    def install(self) -> str:
        """The command line that installs the missing packages."""
        return f"pip install 'collectorfleet[{self.extra}]'"


def is_installed(module: str) -> bool:
    """Return whether ``module`` can be imported. A folder of that name without Python in it does not count."""
    found = find_spec(module)
    return found is not None and found.origin is not None
