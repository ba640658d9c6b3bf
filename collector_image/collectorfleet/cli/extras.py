"""The packages that each command needs from this project's extras.

A command checks these packages before it imports code of the user. The command does not check what the user's code
imports.
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
# tensorboard is left out, because a run works without it.
RUNTIME: Final = Needs(
    "runtime",
    (
        *("aiohttp", "dulwich", "gymnasium", "kubernetes", "numpy", "pathspec", "prometheus_client", "ray", "rich"),
        *("tensordict", "torch", "torchrl", "tqdm", "urllib3", "websocket", "xxhash"),
    ),
)

# Only `export` needs safetensors for the folder of a run, and websocket for a fleet.
EXPORT: Final = Needs("runtime", ("safetensors", "torch", "torchrl"))
EXPORT_OF_FLEET: Final = Needs("client", (*CLUSTER.modules, "websocket"))

# These packages are needed by `report` with several runs.
COMPARE: Final = Needs("compare", ("numpy", "scipy"))

# `report` and `export` are left out: the packages that they need depend on whether RUN is a folder or a fleet.
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
    """Raise NotInstalled if a module is missing. ``command`` is the command's name, such as ``collectorfleet run``."""
    if problem := needs.problem(command):
        raise NotInstalled(problem)


def mark(command: str, text: str) -> str:
    """Return the help ``text`` of a command. If packages are missing, add the command that installs them."""
    needs = NEEDED_BY.get(command)
    return f"{text} (not installed: {needs.install})" if needs and needs.missing() else text
