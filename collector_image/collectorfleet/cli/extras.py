"""The packages of this project's extras that commands need.

The check comes before any code of the user, whose imports it cannot see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collectorfleet.errors import CollectorFleetError
from collectorfleet_api.extras import Needs


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

# A run may do without safetensors.
EXPORT: Final = Needs("runtime", ("safetensors", "torch", "torchrl"))

# `report` of several runs.
COMPARE: Final = Needs("compare", ("numpy", "scipy"))

# `report` and `export` are left out: what they need depends on whether RUN is a folder or a fleet.
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


def require(needs: Needs, command: str) -> None:
    """Raise NotInstalled if a module is missing; ``command`` is its name, such as ``collectorfleet run``."""
    if problem := needs.problem(command):
        raise NotInstalled(problem)


def mark(command: str, text: str) -> str:
    """Return the help ``text`` of a command, with the extra that is missing if there is one."""
    needs = NEEDED_BY.get(command)
    return f"{text} (not installed: {needs.install})" if needs and needs.missing() else text
