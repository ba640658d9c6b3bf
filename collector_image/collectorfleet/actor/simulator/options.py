"""The option for the simulator that a collector starts.

:class:`~collectorfleet.FleetCollector` takes it as an argument. No I/O.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from collectorfleet import option_types
from collectorfleet.errors import InvalidOption
from collectorfleet.option_ranges import Timeout

# The environment factory gets the addresses in this keyword argument.
ADDRESSES: Final = "process"
# The placeholder for the collector's own interpreter.
PYTHON: Final = "python"
_PORT_NAME: Final = re.compile(r"[a-z]([a-z0-9-]{0,13}[a-z0-9])?")


@dataclass(frozen=True)
class SimulatorProcess:
    """The simulator that each collector starts in its own container before the collector builds the environment.

    The environment factory gets the addresses of the simulator as ``process={"grpc": "127.0.0.1:40123"}``.

    Args:
        command: program and arguments. ``{grpc}`` is replaced by the number of the port ``grpc``, and ``{python}`` by
            the collector's Python interpreter. The environment variable ``PORT_GRPC`` has the number of the port as
            well.
        ports: the names of the simulator's TCP ports on the loopback interface. A name has up to 15 lower-case letters,
            digits and ``-``. The collector chooses a free port for each name.
        ready_timeout: the time limit for the simulator to listen on all of its ports.

    Raises:
        InvalidOption: a value is invalid.
    """

    command: Sequence[str]
    ports: Sequence[str]
    ready_timeout: Timeout = timedelta(minutes=1)

    def __post_init__(self) -> None:
        option_types.check_fields(self, "process.")
        if not self.command or not self.command[0]:
            raise InvalidOption("process.command: give a list of the program and its arguments, such as ['./server']")
        if not self.ports:
            raise InvalidOption("process.ports: give a list of at least one name, such as ['grpc']")
        for name in self.ports:
            if not _PORT_NAME.fullmatch(name):
                raise InvalidOption(
                    f"process.ports: {name!r} is not a valid port name; use up to 15 lower-case letters, digits and "
                    "'-', "
                    f"beginning with a letter"
                )
        if PYTHON in self.ports:
            raise InvalidOption(
                f"process.ports: a port cannot have the name '{PYTHON}', because {{{PYTHON}}} in the command stands "
                "for the collector's Python; rename the port"
            )
        if len(set(self.ports)) < len(self.ports):
            raise InvalidOption(f"process.ports: a name appears twice in {', '.join(self.ports)}; name each port once")


@dataclass(frozen=True)
class Simulator:
    """A simulator, with the deadlines that the driver applies to the simulator's collector.

    Args:
        process: the simulator to start.
        build_seconds: the seconds that the driver waits until the collector has built the environment.
        first_request_seconds: the seconds that the driver waits for the first rollout. Evaluators have a separate
            deadline for their episodes.
        request_seconds: the seconds that the driver waits for each later rollout.
    """

    process: SimulatorProcess
    build_seconds: float
    first_request_seconds: float
    request_seconds: float
