"""Build a simulator's arguments, environment variables and addresses from the numbers of its ports. No I/O."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from collectorfleet.actor.simulator.options import PYTHON

_HOST = "127.0.0.1"


def arguments(command: Sequence[str], ports: Mapping[str, int]) -> list[str]:
    """Return ``command`` with each ``{name}`` replaced by the port ``name``, and ``{python}`` by this interpreter.

    Text in other braces does not change, because an argument may be JSON or a shell script.
    """
    values = {PYTHON: sys.executable} | {name: str(port) for name, port in ports.items()}
    return [_filled_in(argument, values) for argument in command]


def variables(ports: Mapping[str, int]) -> dict[str, str]:
    """Return one environment variable for each port, such as ``PORT_GAME_STATE`` for the port ``game-state``."""
    return {f"PORT_{name.upper().replace('-', '_')}": str(port) for name, port in ports.items()}


def addresses(ports: Mapping[str, int]) -> dict[str, str]:
    """Return the addresses for the environment factory by port name, such as ``127.0.0.1:40123``."""
    return {name: f"{_HOST}:{port}" for name, port in ports.items()}


def _filled_in(argument: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        argument = argument.replace(f"{{{name}}}", value)
    return argument
