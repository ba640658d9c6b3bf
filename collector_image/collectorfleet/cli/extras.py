"""The packages of this project's extras that commands need: which are missing, and how to install them.

Looking for a package does not import it. The check comes before any code of the user, whose imports it cannot see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from collectorfleet.errors import CollectorFleetError


@dataclass(frozen=True)
class Needs:
    """``modules`` are what a command imports of the packages in ``extra``."""

    extra: str
    modules: tuple[str, ...]

    def missing(self) -> Sequence[str]:
        """Return the modules that are not installed."""
        return [module for module in self.modules if not is_installed(module)]

    def require(self, command: str) -> None:
        """Raise NotInstalled if a module is missing; ``command`` is its name, such as ``collectorfleet run``."""
        if missing := self.missing():
            raise NotInstalled(
                f"{command} needs packages that are not installed ({', '.join(missing)}): {self.install}"
            )

    @property
    def install(self) -> str:
        """The command line that installs the missing packages."""
        return f"pip install 'collectorfleet[{self.extra}]'"


class NotInstalled(CollectorFleetError):
    """A command needs packages that are not installed."""


CLUSTER: Final = Needs("client", ("kubernetes", "pathspec"))
TOP: Final = Needs("client", ("kubernetes", "pathspec", "rich"))
# Without what a run may do without: tensorboard.
RUNTIME: Final = Needs(
    "runtime",
    (
        *("aiohttp", "dulwich", "gymnasium", "kubernetes", "numpy", "pathspec", "prometheus_client", "ray", "rich"),
        *("tensordict", "torch", "torchrl", "tqdm", "urllib3", "xxhash"),
    ),
)

# `report` is left out: of a folder it needs nothing.
NEEDED_BY: Final[Mapping[str, Needs]] = {
    "run": RUNTIME,
    "collect": RUNTIME,
    "drive": RUNTIME,
    "submit": CLUSTER,
    "status": CLUSTER,
    "logs": CLUSTER,
    "stop": CLUSTER,
    "resume": CLUSTER,
    "top": TOP,
}


def is_installed(module: str) -> bool:
    """Return whether ``module`` can be imported. A folder of that name without Python in it does not count."""
    found = find_spec(module)
    return found is not None and found.origin is not None


def mark(command: str, text: str) -> str:
    """Return the help ``text`` of a command, with the extra that is missing if there is one."""
    needs = NEEDED_BY.get(command)
    return f"{text} (not installed: {needs.install})" if needs and needs.missing() else text
